// What `serve` asks of the root that composes the service: commands do not import it.

import type { Fault } from '../catalog/catalog.ts';
import type { JsonObject } from '../wire/wire.ts';

/** A file given with `--apply`, read and expanded. */
export interface ApplyFile {
  document: JsonObject;
  /** A fault of the document as "FILE:LINE: path: message". */
  describeFault(fault: Fault): string;
}

export interface ServerOptions {
  applyFile?: ApplyFile;
  /** Both in PEM; read anew when they change. */
  tls?: { certificatePath: string; keyPath: string };
  /** Takes one line for whoever started the service. */
  print(line: string): void;
}

export interface RunningServer {
  /** Where it answers, such as "http://127.0.0.1:8080". */
  url: string;
  /** Reads certificate and key again, now; null without TLS. */
  reloadTls: (() => Promise<void>) | null;
  /** Drains: refuses new messages, lets running ones end within a bound, settles, closes the store. */
  stop(): Promise<void>;
  /** Resolves when it has stopped, rejects when it could not go on. */
  finished: Promise<void>;
}
