// Parts of every trial of several nodes: keys, an upstream that counts, clients that record what they see, and the
// comparison of all of them with the ledger.

import { makeKeyBelow } from '../../support/make-key-below.ts';
import { makeRandom } from '../../support/random.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import type { Callers, Load, Seen } from '../crash/clients.ts';
import { compareBooks, compareRound, type Figures } from '../crash/compare.ts';
import { type CountingUpstream, startCountingUpstream } from '../crash/counting-upstream.ts';
import { type Books, emptyBooks, readBooks } from '../crash/read-books.ts';
import { applyEverywhere, type Nodes, type NodesSettings, type ServiceNode, startNodes } from './start-nodes.ts';

const FIRST_MARK = 1_000;

/** Nodes with callers and a provider, and all that is known of what they did. */
export interface World extends AsyncDisposable {
  nodes: Nodes;
  upstream: CountingUpstream;
  callers: Callers;
  books: Books;
  seen: Seen[];
  random: () => number;
  mark: number;
}

/** The result of a trial: figures to print, and violations. */
export interface Outcome {
  lines: string[];
  faults: string[];
}

/**
 * Three nodes, or one for each build, two accounts whose credit lasts and one whose does not. Unless a node is of an earlier
 * release, which may have no companies, the second account pays for a company's member.
 */
export async function openWorld(seed: number, settings: NodesSettings, serviceSettings: object): Promise<World> {
  const upstream = await startCountingUpstream();
  const nodes = await startNodes(settings.builds?.length ?? 3, { ...settings, environment: { TURNPIKE_LOG: 'json' } });
  const priced = (model: string) => ({
    price: { input: '1', output: '5' },
    routes: [{ provider: 'counting', model }],
  });
  await applyEverywhere(nodes, {
    providers: { counting: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: { even: priced('even'), varied: priced('varied') },
    settings: serviceSettings,
  });
  const callers: Callers = { secrets: [], accounts: [] };
  const createdMs = Date.now();
  for (const credit of ['100000.00', '100000.00', '0.05']) {
    const { service } = nodes.all[0] as ServiceNode;
    const { account, secret } = await service.makeKey({ credit });
    callers.accounts.push(account);
    const isCompany = callers.accounts.length === 2 && settings.builds === undefined;
    callers.secrets.push(isCompany ? await makeKeyBelow(service, account) : secret);
  }
  const books = emptyBooks(callers.accounts);
  await readBooks((nodes.all[0] as ServiceNode).service, books, createdMs);
  return {
    nodes,
    upstream,
    callers,
    books,
    seen: [],
    random: makeRandom(seed),
    mark: FIRST_MARK,
    async [Symbol.asyncDispose]() {
      await nodes[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

/** Keys for the clients of this round, which `turnpike` serves. */
export function beginRound(world: World, turnpike: Turnpike, isOver: () => boolean): Load {
  const seen: Seen = { sightings: [], credits: new Map() };
  world.seen.push(seen);
  const { callers, random } = world;
  return { turnpike, callers, random, nextMark: () => world.mark++, isOver, seen };
}

/** Client, upstream and ledger of the last round, as the first node that runs tells it, and all books. */
export async function compareWorld(
  world: World,
  startedMs: number,
  killedAtMs: number,
  hasLateNode = false,
): Promise<{ figures: Figures; faults: string[] }> {
  const { nodes, books, upstream, seen } = world;
  const { service } = nodes.all.find(({ isRunning }) => isRunning) as ServiceNode;
  const fresh = await readBooks(service, books, startedMs);
  const last = seen.at(-1) as Seen;
  const { calls } = upstream;
  const { figures, faults } = compareRound({ seen: last, calls, books, fresh, killedAtMs, hasLateNode });
  return { figures, faults: [...faults, ...compareBooks(books, seen, await nodes.check())] };
}

const LOGGED_MAX = 10;

/** Internal failures that nodes logged since then, to explain a failed trial. */
export function readFailures({ nodes }: World, sinceMs: number): string[] {
  return nodes.all
    .flatMap((node) => node.readLog().split('\n'))
    .filter(
      (line) =>
        /"event":"failure"|"event":"store|"status":50[03]/.test(line) &&
        Date.parse(/"at":"([^"]+)"/.exec(line)?.[1] ?? '') >= sinceMs,
    )
    .slice(0, LOGGED_MAX);
}

/** Holds that are open now, as the database has them. */
export async function countHolds(world: World): Promise<number> {
  return (await world.nodes.check()).open_holds;
}
