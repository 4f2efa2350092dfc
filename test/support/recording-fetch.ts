export type Recording = {
  fetch: typeof fetch;
  /** Statuses of the answers whose headers have arrived. */
  readonly statuses: readonly number[];
  /** All that the bodies have brought so far. */
  readonly text: string;
};

/** A fetch for SDKs that keeps what they do not show, such as heartbeats. */
export const createRecordingFetch = (): Recording => {
  const statuses: number[] = [];
  const decoder = new TextDecoder();
  let text = '';
  return {
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      statuses.push(response.status);
      const seen = new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          text += decoder.decode(chunk, { stream: true });
          controller.enqueue(chunk);
        },
      });
      return new Response(response.body?.pipeThrough(seen) ?? null, response);
    },
    statuses,
    get text() {
      return text;
    },
  };
};
