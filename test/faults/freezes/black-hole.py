"""A provider of the chat protocol. With `dead`, the first connection is dropped by the system after its response: no packet of it is
read or acknowledged any more, as where a network has forgotten it. With `slow`, a request after the first of a
connection is answered after so many seconds."""
import ctypes
import socket
import sys
import threading
import time

SO_ATTACH_FILTER = 26


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("filter", ctypes.POINTER(Instruction))]


# "ret 0": keep no byte of any packet.
DROP_ALL = (Instruction * 1)(Instruction(6, 0, 0, 0))
BODY = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}'
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(BODY), BODY)


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return False
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    left = int(lengths[0].split(b":")[1]) - len(body)
    while left > 0:
        left -= len(connection.recv(65536))
    return True


def serve(connection, mode):
    responses = 0
    while read_request(connection):
        print("request", flush=True)
        if mode == "slow" and responses > 0:
            time.sleep(float(sys.argv[2]))
        connection.sendall(RESPONSE)
        responses += 1
        if mode == "dead":
            program = Program(1, DROP_ALL)
            connection.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, bytes(program))
            print("dropped", flush=True)
            time.sleep(600)


server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
mode = sys.argv[1]
while True:
    accepted, _ = server.accept()
    threading.Thread(target=serve, args=(accepted, mode), daemon=True).start()
    if mode == "dead":
        mode = "well"
