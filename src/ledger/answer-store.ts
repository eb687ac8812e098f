// Answers to claims, kept so that who repeats a message gets the same again. They are written in the
// transaction that ends their hold, so they stand here; what they say is sealed.

/** One answer as it is stored. */
export interface StoredAnswer {
  /** Of the message that it answered. */
  requestId: string;
  /** When it was given. */
  atMs: number;
  /** How much of `bounds.answersStoredBytesMax` it takes: the size of what is sealed. */
  bytes: number;
  sealed: string;
}

export interface AnswerStore {
  /** Null for a message that has none, or none any more. */
  findAnswer(requestId: string): Promise<StoredAnswer | null>;
  /**
   * The row that keeps it, to be written alongside the settlement of its message; written twice, it stands once. Where
   * all answers together become too large, the oldest go.
   */
  answerRow(answer: StoredAnswer): unknown;
}
