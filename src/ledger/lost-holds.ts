// Holds in the store that belong to this node and to none of its messages: a failover to a standby that lagged behind has
// undone their endings.

/** The number of looks after which a hold is lost: one alone may see a message that is just being admitted or ended. */
const LOOKS = 2;

export class LostHolds {
  readonly #list: () => Promise<readonly string[]>;
  readonly #end: (requestIds: readonly string[]) => Promise<number>;
  /** Holds without a message, by how many looks have seen them so. */
  #suspected = new Map<string, number>();

  /** `list`: the request ids of the node's holds in the store. */
  constructor(list: () => Promise<readonly string[]>, end: (requestIds: readonly string[]) => Promise<number>) {
    this.#list = list;
    this.#end = end;
  }

  /** Ends what is lost. Resolves to the number of holds. */
  async look(runningIds: () => ReadonlySet<string>): Promise<number> {
    const stored = await this.#list();
    const running = runningIds(); // after the list: what was admitted since is not in it
    const before = this.#suspected;
    this.#suspected = new Map(
      stored
        .filter((requestId) => !running.has(requestId))
        .map((requestId) => [requestId, (before.get(requestId) ?? 0) + 1]),
    );
    const lost = [...this.#suspected].filter(([, looks]) => looks >= LOOKS).map(([requestId]) => requestId);
    return lost.length === 0 ? 0 : this.#end(lost);
  }
}
