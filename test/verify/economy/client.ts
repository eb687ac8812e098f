// A message as its client sees it: sent, read chunk by chunk, rested, left.

import type { EncodedReply } from '../../../src/public-api/encode-reply.ts';
import type { Wanted } from './answers.ts';
import type { AccountName } from './cast.ts';
import type { LeavePoint } from './moves.ts';
import { bytesOf } from './texts.ts';

const readJson = JSON.parse; // not the one that the judge watches

const CHARACTER_BYTES_MAX = 3; // which a piece may lack, as whole characters only are sent

export interface Asked {
  by: AccountName;
  key: number;
  isStream: boolean;
  claim: string | null;
  wanted: Wanted;
  /** Changes the body, and nothing else. */
  variant: number;
}

export class ClientMessage<Of extends { wanted: Wanted } = Asked> {
  readonly asked: Of;
  readonly sentMs: number;
  endedMs: number | null = null;
  readonly controller = new AbortController();
  requestId: string | null = null;
  status: number | null = null;
  errorCode: string | null = null;
  /** The message of which this is the answer once more. */
  replayOf: string | null = null;
  receivedBytes = 0;
  /** Its end was read. */
  isWhole = false;
  hasLeft = false;
  hasEnded = false;
  #chunksLeft: number;
  readonly #leavesAt: LeavePoint | null;
  #deltas = 0;
  readonly #nowMs: () => number;
  #body: AsyncIterator<string | Uint8Array> | null = null;
  #goOn: (() => void) | null = null;

  constructor(asked: Of, nowMs: () => number, reads: number | null, leavesAt: LeavePoint | null = null) {
    this.asked = asked;
    this.sentMs = nowMs();
    this.#nowMs = nowMs;
    this.#leavesAt = leavesAt;
    this.#chunksLeft = reads ?? Number.POSITIVE_INFINITY;
  }

  takeReply({ status, headers, body }: EncodedReply): void {
    this.status = status;
    this.replayOf = headers['idempotency-original-request-id'] ?? null;
    if (typeof body === 'string') this.#takeWhole(body);
    else void this.#read(body[Symbol.asyncIterator]());
  }

  takeRefusal(status: number, body: string): void {
    this.status = status;
    this.errorCode = errorCodeOf(body);
    this.#end();
  }

  #end(): void {
    this.hasEnded = true;
    this.endedMs ??= this.#nowMs();
  }

  rest(): void {
    this.#chunksLeft = 0;
  }

  read(chunks: number | null): void {
    this.#chunksLeft = chunks ?? Number.POSITIVE_INFINITY;
    this.#goOn?.();
  }

  leave(): void {
    if (this.hasEnded || this.hasLeft) return;
    this.hasLeft = true;
    this.controller.abort();
    void this.#body?.return?.().then(
      () => {},
      () => {},
    );
    this.read(null);
  }

  #takeWhole(body: string): void {
    this.#end();
    if (this.hasLeft || this.status !== 200) return;
    const { content = [] } = readJson(body) as { content?: { text?: string }[] }; // none in a count of tokens
    for (const { text = '' } of content) this.receivedBytes += Buffer.byteLength(text);
    this.isWhole = true;
  }

  async #read(body: AsyncIterator<string | Uint8Array>): Promise<void> {
    this.#body = body;
    // The runtime takes the first chunk, whether the client reads or not.
    for (let isTaken = false; ; isTaken = true) {
      while (isTaken && this.#chunksLeft <= 0 && !this.hasLeft) {
        await new Promise<void>((resolve) => {
          this.#goOn = resolve;
        });
      }
      if (this.hasLeft) break;
      const { done, value } = await body.next();
      if (done === true) break;
      this.#chunksLeft--;
      if (!this.hasLeft) this.#takeEvents(typeof value === 'string' ? value : new TextDecoder().decode(value));
    }
    this.#end();
  }

  #takeEvents(text: string): void {
    for (const event of text.split('\n\n')) {
      const dataAt = event.indexOf('\ndata: ');
      if (event.startsWith('event: content_block_delta')) {
        const { delta } = readJson(event.slice(dataAt + 7)) as { delta: { text?: string } };
        this.receivedBytes += Buffer.byteLength(delta.text ?? '');
        this.#deltas++;
      } else if (event.startsWith('event: message_stop')) this.isWhole = true;
      else if (event.startsWith('event: error')) this.errorCode = errorCodeOf(event.slice(dataAt + 7));
      if (this.#leavesAt === null || !this.#isAt(this.#leavesAt, event)) continue;
      this.leave();
      return;
    }
  }

  #isAt(point: LeavePoint, event: string): boolean {
    if (point === 'begin') return event.startsWith('event: message_start');
    if (point === 'counts') return event.startsWith('event: message_delta');
    if (typeof point === 'number') return this.#deltas >= point;
    const { answer } = this.asked.wanted;
    return this.receivedBytes > bytesOf(answer) - CHARACTER_BYTES_MAX * answer.length;
  }
}

function errorCodeOf(text: string): string {
  try {
    const { error } = readJson(text) as { error: { code?: string; type?: string } };
    return error.code ?? error.type ?? 'unknown';
  } catch {
    return 'unreadable';
  }
}
