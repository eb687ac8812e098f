// Turns rows into the bytes of a file, in pieces.

export interface FileWriter {
  /** The next bytes of the file; may be none yet. */
  write(rows: readonly unknown[]): Promise<Uint8Array>;
  /** The last bytes. Called once. */
  end(): Promise<Uint8Array>;
}
