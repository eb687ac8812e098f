// Certificate and key in their files: read at the start, and again when they change, whichever way that is
// done (written over, renamed, a link that leads elsewhere). A pair that cannot be used changes nothing.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { bounds } from '../config.ts';

export interface TlsPaths {
  certificatePath: string;
  keyPath: string;
}

/** A certificate (with its chain) and its key in PEM, which belong together. */
export interface TlsPair {
  certificate: string;
  key: string;
  expiresAtMs: number;
}

/** A pair that cannot be used. The message begins with the flag that named the file. */
export class TlsPairBroken extends Error {
  override name = 'TlsPairBroken';
}

/** Reads the pair. Throws TlsPairBroken for a file that cannot be read or holds something else, and for two that do not fit. */
export async function readTlsPair({ certificatePath, keyPath }: TlsPaths): Promise<TlsPair> {
  const certificate = await readText('--tls-certificate', certificatePath);
  const key = await readText('--tls-key', keyPath);
  let parsed: X509Certificate;
  let parsedKey: KeyObject;
  try {
    parsed = new X509Certificate(certificate);
  } catch (cause) {
    throw new TlsPairBroken(`--tls-certificate: ${certificatePath} holds no certificate in PEM form`, { cause });
  }
  try {
    parsedKey = createPrivateKey(key);
  } catch (cause) {
    throw new TlsPairBroken(`--tls-key: ${keyPath} holds no private key in PEM form, or one that needs a password`, {
      cause,
    });
  }
  if (!parsed.checkPrivateKey(parsedKey))
    throw new TlsPairBroken(`--tls-key: ${keyPath} is not the key of the certificate in ${certificatePath}`);
  try {
    createSecureContext({ cert: certificate, key }); // the chain behind the first certificate, too
  } catch (cause) {
    throw new TlsPairBroken(`--tls-certificate: ${certificatePath} cannot be used: ${messageOf(cause)}`, { cause });
  }
  return { certificate, key, expiresAtMs: parsed.validToDate.getTime() };
}

/** What happened to the files, for the operator's log. */
export type TlsEvent = { kind: 'used'; pair: TlsPair } | { kind: 'refused'; message: string };

export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly #use: (pair: TlsPair) => Promise<void>;
  readonly #tell: (event: TlsEvent) => void;
  readonly #timer: ReturnType<typeof setInterval>;
  #current: TlsPair;
  #fault: string | null = null;
  #isFaultTold = false;
  #looking: Promise<void> = Promise.resolve();

  /** `use` puts a new pair in force. Looks every `bounds.tlsLookMs` until it is closed. */
  constructor(
    paths: TlsPaths,
    current: TlsPair,
    use: (pair: TlsPair) => Promise<void>,
    tell: (event: TlsEvent) => void,
    lookMs: number = bounds.tlsLookMs,
  ) {
    this.#paths = paths;
    this.#current = current;
    this.#use = use;
    this.#tell = tell;
    this.#timer = setInterval(() => void this.look('by_itself'), lookMs);
    this.#timer.unref();
  }

  get current(): TlsPair {
    return this.#current;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Looks now; one look at a time. Never rejects. Resolves when a new pair is in force, or has been refused. */
  look(reason: 'by_itself' | 'asked'): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look(reason));
    return this.#looking;
  }

  async #look(reason: 'by_itself' | 'asked'): Promise<void> {
    try {
      const pair = await readTlsPair(this.#paths);
      this.#fault = null;
      if (pair.certificate === this.#current.certificate && pair.key === this.#current.key) return;
      await this.#use(pair);
      this.#current = pair;
      this.#tell({ kind: 'used', pair });
    } catch (thrown) {
      this.#refuse(messageOf(thrown), reason);
    }
  }

  /** Told once. Files that are just being replaced, one after the other, are not told of: only what a second look finds, too. */
  #refuse(message: string, reason: 'by_itself' | 'asked'): void {
    const isKnown = this.#fault === message;
    if (!isKnown) this.#isFaultTold = false;
    this.#fault = message;
    if (reason === 'by_itself' && (!isKnown || this.#isFaultTold)) return;
    this.#isFaultTold = true;
    this.#tell({ kind: 'refused', message });
  }
}

async function readText(flag: string, path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > bounds.tlsFileBytesMax) throw new Error(`it has more than ${bounds.tlsFileBytesMax} bytes`);
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new TlsPairBroken(`${flag}: cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
