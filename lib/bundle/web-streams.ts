/**
 * Replaces `node:stream/web` inside the bundle: middy asks whether a body is a web stream, and loading Node's takes
 * 5 ms of CPU in every cold start. The router's bodies are Node's streams.
 */
export class ReadableStream {}
