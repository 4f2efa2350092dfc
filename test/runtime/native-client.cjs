/**
 * Preloaded into the runtime client's process: stands for its native addon, which speaks the same three
 * calls of the Runtime API in C++.
 */
const { Agent, request } = require('node:http');
const Module = require('node:module');

const BASE = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation`;
// One connection, so that an answer is delivered before the next invocation is asked for.
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

const call = (method, path, body, headers = {}) =>
  new Promise((resolve, reject) => {
    const sent = request(`${BASE}${path}`, { method, agent, headers }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ bodyJson: Buffer.concat(chunks).toString(), headers: response.headers }),
      );
    });
    sent.on('error', reject).end(body);
  });

const nativeClient = {
  next: () => call('GET', '/next'),
  done: (id, body) => void call('POST', `/${id}/response`, body),
  error: (id, body) => void call('POST', `/${id}/error`, body),
};

const load = Module._load;
Module._load = function loadOrStandIn(name, ...rest) {
  return name === './rapid-client.node' ? nativeClient : load.call(this, name, ...rest);
};
