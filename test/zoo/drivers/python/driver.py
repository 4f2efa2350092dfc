"""Plays orders with the Python clients: a line of JSON in, a line of JSON out.

The module of a client has `connect(order)`, which returns an object with the operations that the
library has: `list`, `ask`, `stream`, `tools`, `structured`, `image`.
"""

import importlib
import json
import os
import sys

MODULES = {
    "openai": "openai_sdk",
    "anthropic": "anthropic_sdk",
    "litellm": "litellm_client",
    "openai-agents": "agents_client",
    "langchain-openai": "langchain_client",
    "langchain-anthropic": "langchain_client",
    "llama-index-llms-openai-like": "llama_index_client",
    "pydantic-ai-slim": "pydantic_ai_client",
    "instructor": "instructor_client",
    "smolagents": "smolagents_client",
    "haystack-ai": "haystack_client",
    "agno": "agno_client",
}

# A key of the machine must not be used instead of the order's.
for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
    os.environ.pop(name, None)


# LiteLLM asks the network for prices otherwise.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"


def status_of(error):
    for candidate in (error, error.__cause__, getattr(error, "response", None)):
        status = getattr(candidate, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def words_of(error):
    parts = []
    while error is not None and len(parts) < 4:
        parts.append(f"{type(error).__name__}: {error}")
        error = error.__cause__ or error.__context__
    return " <- ".join(parts)


def play(order):
    package, endpoint = order["client"].split(" ")
    client = importlib.import_module(MODULES[package]).connect(order, endpoint)
    operation = getattr(client, order["operation"], None)
    return {"missing": True} if operation is None else operation()


def settle(order):
    try:
        return play(order)
    except BaseException as error:  # a library may raise SystemExit or a cancellation
        report = {"message": words_of(error)[:600]}
        status = status_of(error)
        if status is not None:
            report["status"] = status
        return {"error": report}


def main():
    # Libraries print; the reports have the output for themselves.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        out.write(json.dumps({"report": settle(json.loads(line))}) + "\n")


main()
