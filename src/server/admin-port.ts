// Where the admin API answers: with messages, or on a port of its own, which a flag fixes or a setting
// moves while the service runs.

import type { AdminMove } from '../admin-api/admin-api.ts';
import { type ListenAddress, parseListenAddress } from '../base/listen-address.ts';
import type { HttpServer, TlsPair } from '../http/http.ts';

export class AdminPort {
  readonly #open: (address: ListenAddress) => HttpServer;
  readonly #fixed: ListenAddress | null;
  readonly #onMoved: () => void;
  /** What the setting said when the port was opened. */
  #setting: string | null;
  #server: HttpServer | null;
  /** Left, but not every answer is sent yet. */
  readonly #left = new Set<HttpServer>();

  /** `fixed`, of a flag, wins over the setting for good. Throws an error that names what wanted the port, when it cannot be had. */
  constructor(
    open: (address: ListenAddress) => HttpServer,
    fixed: ListenAddress | null,
    setting: string | null,
    onMoved: () => void,
  ) {
    this.#open = open;
    this.#fixed = fixed;
    this.#setting = setting;
    this.#onMoved = onMoved;
    try {
      this.#server = fixed === null ? this.#openSetting(setting) : open(fixed);
    } catch (cause) {
      const words = (cause as Error).message;
      if (fixed !== null) throw new Error(`--admin-listen: ${words}`, { cause });
      throw new Error(`settings.admin_listen: ${words}; serve --admin-listen has it elsewhere`, { cause });
    }
  }

  /** Null where the admin API answers with messages. */
  get server(): HttpServer | null {
    return this.#server;
  }

  get requestsInFlight(): number {
    return this.#all().reduce((sum, server) => sum + server.requestsInFlight(), 0);
  }

  /** Opens the port that the setting names from now on; null when that changes nothing. Throws what keeps it from that. */
  move(setting: string | null): AdminMove | null {
    if (this.#fixed !== null || setting === this.#setting) return null;
    const opened = this.#openSetting(setting);
    let isKept = false;
    return {
      keep: () => {
        isKept = true;
        const before = this.#server;
        this.#server = opened;
        this.#setting = setting;
        this.#onMoved();
        if (before !== null) this.#leave(before);
      },
      [Symbol.dispose]() {
        // Not awaited: nobody was told of it yet.
        if (!isKept) void opened?.stop(false);
      },
    };
  }

  async replaceTls(pair: TlsPair): Promise<void> {
    await this.#server?.replaceTls(pair);
  }

  async stop(isGraceful: boolean): Promise<void> {
    await Promise.all(this.#all().map((server) => server.stop(isGraceful)));
  }

  #openSetting(setting: string | null): HttpServer | null {
    const address = setting === null ? null : parseListenAddress(setting);
    return address === null ? null : this.#open(address);
  }

  /** Whoever moved it may be waiting for its answer on the port that is left. */
  #leave(server: HttpServer): void {
    this.#left.add(server);
    void server.stop(true).finally(() => this.#left.delete(server));
  }

  #all(): HttpServer[] {
    return this.#server === null ? [...this.#left] : [this.#server, ...this.#left];
  }
}
