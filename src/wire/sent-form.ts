// A form that a client sent in place of JSON. Its files are on disk while its request runs.

export interface FormField {
  name: string;
  value: string;
}

export interface SentFile {
  /** The name of the field. */
  readonly field: string;
  /** Without directories; empty if there is none. */
  readonly name: string;
  /** As the client stated it. */
  readonly mediaType: string;
  readonly bytes: number;
  /** The content, as often as it is called. */
  read(): AsyncIterable<Uint8Array>;
  /** Its content is still to be fetched from a web address, which stands at `path`. Absent: it is there. */
  readonly at?: { readonly url: string; readonly path: string };
}

/** A file that is in memory. */
export function fileInMemory(about: Pick<SentFile, 'field' | 'name' | 'mediaType'>, content: Uint8Array): SentFile {
  return {
    ...about,
    bytes: content.byteLength,
    async *read() {
      yield content;
    },
  };
}

/** A file as fronts see it. */
export interface MeasuredFile extends Omit<SentFile, 'read' | 'at'> {
  /** In hexadecimal digits. */
  readonly sha256: string;
  /** The length of sound; null: it cannot be told. */
  readonly seconds: number | null;
}

/** Fields and files in the order in which they came; a name may be repeated. */
export interface MeasuredForm {
  readonly fields: readonly FormField[];
  readonly files: readonly MeasuredFile[];
}

export interface SentForm {
  readonly fields: readonly FormField[];
  readonly files: readonly SentFile[];
  /** The files stay until this has settled, too. */
  keepUntil(settled: Promise<unknown>): void;
}
