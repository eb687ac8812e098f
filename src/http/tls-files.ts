// Certificate and key files, read again when they change in any way. An invalid pair changes nothing.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { bounds } from '../config/config.ts';

export interface TlsPaths {
  certificatePath: string;
  keyPath: string;
}

/** A certificate (with its chain) and its key in PEM. */
export interface TlsPair {
  certificate: string;
  key: string;
  expiresAtMs: number;
}

/** An invalid pair. The message begins with the flag of the file. */
class TlsPairBroken extends Error {
  override name = 'TlsPairBroken';
}

/** Reads the pair. Throws TlsPairBroken for an unreadable or invalid file, and for files that do not match. */
export async function readTlsPair({ certificatePath, keyPath }: TlsPaths): Promise<TlsPair> {
  const certificate = await readText('--tls-certificate', certificatePath);
  const key = await readText('--tls-key', keyPath);
  let parsed: X509Certificate;
  let parsedKey: KeyObject;
  try {
    parsed = new X509Certificate(certificate);
  } catch (cause) {
    throw new TlsPairBroken(`--tls-certificate: ${certificatePath} contains no certificate in PEM format`, { cause });
  }
  try {
    parsedKey = createPrivateKey(key);
  } catch (cause) {
    throw new TlsPairBroken(`--tls-key: ${keyPath} contains no private key in PEM format, or an encrypted one`, {
      cause,
    });
  }
  if (!parsed.checkPrivateKey(parsedKey))
    throw new TlsPairBroken(`--tls-key: ${keyPath} does not match the certificate in ${certificatePath}`);
  try {
    createSecureContext({ cert: certificate, key }); // also the chain after the first certificate
  } catch (cause) {
    throw new TlsPairBroken(`--tls-certificate: ${certificatePath} cannot be used: ${messageOf(cause)}`, { cause });
  }
  return { certificate, key, expiresAtMs: parsed.validToDate.getTime() };
}

/** A change of the files, for the log. */
export type TlsEvent = { kind: 'used'; pair: TlsPair } | { kind: 'refused'; message: string };

export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly #use: (pair: TlsPair) => Promise<void>;
  readonly #report: (event: TlsEvent) => void;
  readonly #timer: ReturnType<typeof setInterval>;
  #current: TlsPair;
  #fault: string | null = null;
  #isFaultReported = false;
  #looking: Promise<void> = Promise.resolve();

  /** `use` applies a new pair. Checks every `bounds.tlsLookMs` until closed. */
  constructor(
    paths: TlsPaths,
    current: TlsPair,
    use: (pair: TlsPair) => Promise<void>,
    report: (event: TlsEvent) => void,
    lookMs: number = bounds.tlsLookMs,
  ) {
    this.#paths = paths;
    this.#current = current;
    this.#use = use;
    this.#report = report;
    this.#timer = setInterval(() => void this.look('by_itself'), lookMs);
    this.#timer.unref();
  }

  get current(): TlsPair {
    return this.#current;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Checks now, one check at a time. Never rejects. Resolves when a new pair was applied or refused. */
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
      this.#report({ kind: 'used', pair });
    } catch (thrown) {
      this.#refuse(messageOf(thrown), reason);
    }
  }

  /** Reports once, at the second check that finds the same: files may be replaced one after the other. */
  #refuse(message: string, reason: 'by_itself' | 'asked'): void {
    const isKnown = this.#fault === message;
    if (!isKnown) this.#isFaultReported = false;
    this.#fault = message;
    if (reason === 'by_itself' && (!isKnown || this.#isFaultReported)) return;
    this.#isFaultReported = true;
    this.#report({ kind: 'refused', message });
  }
}

async function readText(flag: string, path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > bounds.tlsFileBytesMax) throw new Error(`it is larger than ${bounds.tlsFileBytesMax} bytes`);
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new TlsPairBroken(`${flag}: cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
