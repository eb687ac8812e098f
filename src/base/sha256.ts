// SHA-256 of the runtime in the form that @smithy/signature-v4 requires.

import { createHash, createHmac } from 'node:crypto';

/** SHA-256, or HMAC with SHA-256 if it has a key. */
export class Sha256 {
  readonly #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;

  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(key));
  }

  update(bytes: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(bytes));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#hash.digest()));
  }

  reset(): void {}
}

function bytesOf(source: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof source === 'string') return Buffer.from(source);
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
}
