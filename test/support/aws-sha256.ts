import { createHash, createHmac } from 'node:crypto';

/** Node's hash behind the interface of AWS's signer. */
export class Sha256 {
  readonly #hash;
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    const key = secret instanceof ArrayBuffer ? new Uint8Array(secret) : secret;
    this.#hash =
      key === undefined ? createHash('sha256') : createHmac('sha256', key as string | Uint8Array);
  }
  update(data: string | Uint8Array): void {
    this.#hash.update(data);
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {}
}
