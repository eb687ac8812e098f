// The cost of an event of a stream against proxies that relay streams without billing, and the memory of open streams.

import { type Figure, inTurns, ratios } from './figures.ts';
import { gates } from './gates.ts';
import type { MeasuredProcess } from './measured-process.ts';
import {
  bodyOf,
  EVENTS,
  models,
  post,
  type Service,
  startBareProxy,
  startService,
  startUpstream,
} from './processes.ts';

const STREAMS = [
  { streams: 100, gate: gates.event },
  { streams: 400, gate: null },
];
// The runtime has one socket for each side of a stream, and this machine's limit of open files may be 20,000.
const OPEN_STREAMS = [
  { streams: 5_000, gate: gates.megabytesOf5000Streams },
  { streams: 9_900, gate: null },
];
const OPENED_AT_ONCE = 100;
const SETTLE_MS = 10_000;

export async function measureEvents(rounds: number): Promise<Figure[]> {
  await using upstream = await startUpstream();
  await using native = await startBareProxy(upstream);
  await using parsing = await startBareProxy(upstream, 'parsing');
  await using service = await startService(upstream);
  const key = await service.makeKey();
  const figures: Figure[] = [];
  for (const { streams, gate } of STREAMS) {
    const [ofNative = [], ofParsing = [], ofService = []] = await inTurns(rounds, [
      () => eventCost(native, 'none', streams),
      () => eventCost(parsing, 'none', streams),
      () => eventCost(service, key, streams),
    ]);
    figures.push(
      { what: `CPU of an event, ${streams} streams`, unit: 'µs', values: ofService },
      { what: '— against a relay that parses', unit: 'x', values: ratios(ofService, ofParsing) },
      { what: '— against the runtime’s own relay', unit: 'x', values: ratios(ofService, ofNative), gate },
    );
  }
  return figures;
}

async function eventCost(target: MeasuredProcess, secret: string, streams: number): Promise<number> {
  const beforeMs = target.cpuMs();
  const readOne = async () => {
    const text = await (await post(target, secret, bodyOf(920, { stream: true }))).text();
    if (!text.includes('message_stop')) throw new Error(text.slice(-200));
  };
  await Promise.all(Array.from({ length: streams }, readOne));
  return ((target.cpuMs() - beforeMs) * 1000) / (streams * EVENTS);
}

/** Memory with open streams that get an event every few seconds. Each number of streams has a service of its own. */
export async function measureOpenStreams(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { streams, gate } of OPEN_STREAMS) {
    await using upstream = await startUpstream();
    await using service = await startService(upstream, {}, { shed_open_messages: 20_000 });
    const close = await openStreams(service, await service.makeKey(), streams);
    await Bun.sleep(SETTLE_MS);
    figures.push({ what: `memory, ${streams} open streams`, unit: 'MB', values: [service.residentMegabytes()], gate });
    await close();
  }
  return figures;
}

async function openStreams(service: Service, secret: string, streams: number): Promise<() => Promise<void>> {
  const readers: ReadableStreamDefaultReader<Uint8Array>[] = [];
  const body = bodyOf(920, { model: models.open, stream: true });
  let left = streams;
  const openAll = async () => {
    while (left-- > 0) {
      const response = await post(service, secret, body);
      if (response.status !== 200) throw new Error(await response.text());
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      readers.push(reader);
    }
  };
  await Promise.all(Array.from({ length: OPENED_AT_ONCE }, openAll));
  const reading = readers.map(async (reader) => {
    while (!(await reader.read()).done);
  });
  return async () => {
    await Promise.all(readers.map((reader) => reader.cancel()));
    await Promise.all(reading);
  };
}
