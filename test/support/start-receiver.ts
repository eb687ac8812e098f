// A receiver of webhooks on loopback that notes what it gets.

export interface ReceivedWebhook {
  id: string;
  type: string;
  data: Record<string, unknown>;
  body: string;
  headers: Record<string, string>;
}

export interface Receiver extends Disposable {
  url: string;
  received: ReceivedWebhook[];
  /** Status of the next answers. */
  status: number;
  /** Resolves when it is true of what was received; throws after a while. */
  until(isEnough: (received: readonly ReceivedWebhook[]) => boolean): Promise<void>;
}

const WAIT_MS_MAX = 45_000;

export function startReceiver(): Receiver {
  const received: ReceivedWebhook[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = await request.text();
      const { id, type, data } = JSON.parse(body) as ReceivedWebhook;
      received.push({ id, type, data, body, headers: Object.fromEntries(request.headers) });
      return new Response(null, { status: receiver.status });
    },
  });
  const receiver: Receiver = {
    url: `http://127.0.0.1:${server.port}/`,
    received,
    status: 200,
    async until(isEnough) {
      for (const endMs = Date.now() + WAIT_MS_MAX; !isEnough(received); await Bun.sleep(20))
        if (Date.now() > endMs) throw new Error(`only received: ${received.map(({ type }) => type).join(', ')}`);
    },
    [Symbol.dispose]: () => void server.stop(true),
  };
  return receiver;
}
