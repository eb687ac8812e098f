// Turns rows into the bytes of a file, in pieces.

export interface FileWriter {
  /** The next bytes of the file; may be none yet. */
  write(rows: readonly unknown[]): Uint8Array;
  /** The last bytes. Called once. */
  end(): Uint8Array;
}
