/** A red dot, as a PNG. */
export const IMAGE =
  'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==';
export const IMAGE_URL = `data:image/png;base64,${IMAGE}`;

export const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city',
  schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};

export const PLACE = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city', 'people'],
  additionalProperties: false,
};

/** Runs a call of the weather tool and notes it. */
export const createWeather = () => {
  const called = [];
  const run = (input) => {
    const { city } = typeof input === 'string' ? JSON.parse(input) : input;
    called.push(`get_weather(${city})`);
    return `7 degrees in ${city}`;
  };
  return { called, run };
};

/** Counts the pieces of a stream and aborts at the first when the order says so. */
export const createReader = ({ cancel }) => {
  const abort = new AbortController();
  const state = { text: '', pieces: 0 };
  const take = (piece) => {
    if (!piece) return;
    state.text += piece;
    state.pieces += 1;
    if (cancel) abort.abort();
  };
  return { state, take, signal: abort.signal };
};

const statusOf = (error) =>
  error.status ??
  error.statusCode ??
  error.cause?.statusCode ??
  error.response?.status ??
  error.httpResponse?.status ??
  error.lastError?.statusCode;

const wordsOf = (error) =>
  [
    error?.name,
    error?.message ?? String(error),
    error?.cause?.message,
    error?.lastError?.message,
    error?.responseBody,
  ]
    .filter((part) => typeof part === 'string' && part !== '')
    .join(': ');

/** The result of an operation, or the error that the library raised. */
export const settle = async (operation) => {
  try {
    return await operation;
  } catch (error) {
    const status = statusOf(error ?? {});
    return {
      error: {
        ...(typeof status === 'number' && { status }),
        message: wordsOf(error).slice(0, 600),
      },
    };
  }
};

// A library that rejects a promise that no caller holds must not end the driver.
process.on('unhandledRejection', () => {});
