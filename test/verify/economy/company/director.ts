// Chooses what happens in an episode by its seed: calls of any operation with any values, messages over every secret that is known, and at
// the end as many as it takes to use up whatever may be used.

import { makeRandom } from '../../../support/random.ts';
import type { Wanted } from '../answers.ts';
import type { ModelName } from '../models.ts';
import { anyLeavePoint, Dice, text } from '../sends.ts';
import { anyBulk, dialects } from './bulk.ts';
import { coalitionNames, coalitions, PINNED, people, personNames } from './company.ts';
import { allOperations } from './episode.ts';
import { goods, type Wish } from './goods.ts';
import type { CompanyMove } from './moves.ts';
import { REQUESTS } from './objects.ts';
import { anyCall, type Operation } from './operations.ts';

const TOKENS = 4; // those that they made
const SECRETS = 12;
const PLACES = 60; // of ids
const BULK_EVERY = 5; // episodes, one of batches at providers
const ASKS = Object.keys(REQUESTS) as (keyof typeof REQUESTS)[];
const OF_DIRECTORY = personNames.filter((name) => people[name].isOfDirectory);
const MODELS: readonly ModelName[] = ['quarters', 'kinds', 'late', 'running', 'bytes', 'vendor', 'cuts', 'faulty'];
const STEADY: readonly ModelName[] = ['quarters', 'kinds', 'late'];

export function directCompany(seed: number): CompanyMove[] {
  const dice = new Dice(makeRandom(seed));
  if (seed % BULK_EVERY === 0) return directBulk(dice);
  const coalition = dice.one([...coalitionNames, 'members', 'members', 'company'] as const);
  const moves: CompanyMove[] = [{ move: 'begin', coalition }];
  const roles = coalitions[coalition].people.map((person) => people[person].role);
  for (const [by, role] of roles.entries()) moves.push(...looks(dice, by, role));
  for (let rounds = dice.between(4, 8); rounds > 0; rounds--) {
    for (let calls = dice.between(8, 28); calls > 0; calls--) {
      const isOfToken = dice.chance(0.15);
      const by = isOfToken ? dice.between(roles.length, roles.length + TOKENS) : anyPerson(dice, roles.length);
      moves.push(anyCallMove(dice, by, anyOperation(dice, roles[by] ?? dice.one(roles))));
    }
    moves.push(...anyMessages(dice), ...anyObjects(dice));
    if (dice.chance(0.2)) moves.push({ move: 'deactivate', person: dice.one(OF_DIRECTORY) }, ...atOnce(dice));
    if (dice.chance(0.3)) moves.push({ move: 'beside', isStream: dice.chance(0.5), wanted: anyWanted(dice, STEADY) });
    if (dice.chance(0.05)) moves.push({ move: 'wait', ms: dice.one([5, 13]) * 3_600_000 });
  }
  for (let secret = 0; secret < SECRETS; secret++) moves.push(...allOf(dice, secret));
  return moves;
}

/** Batches that providers run, one after another, of those who have the money for them. */
function directBulk(dice: Dice): CompanyMove[] {
  const moves: CompanyMove[] = [{ move: 'begin', coalition: 'outsiders' }];
  for (let left = dice.between(6, 12); left > 0; left--) moves.push(...anyBulkBatch(dice, dice.below(SECRETS)));
  return moves;
}

/** Mostly the first, who may most. */
function anyPerson(dice: Dice, count: number): number {
  return dice.chance(0.4) ? 0 : dice.below(count);
}

type Role = 'owner' | 'member';

const isAllowed = ({ roles }: Operation, role: Role) => roles === null || roles.includes(role);
/** Whether it decides about money. Nobody sells any here: payments and subscriptions are as others. */
const isOfMoney = ({ path }: Operation) =>
  /^\/api\/v1\/(?:keys|accounts|people|tokens)(?:$|\/\{id\}(?:$|\/budget|\/r))/.test(path);

/** At first everybody lists what they may see. */
function looks(dice: Dice, by: number, role: Role): CompanyMove[] {
  const lists = allOperations().filter(({ method, path }) => method === 'GET' && !path.includes('{'));
  return lists
    .filter((operation) => isAllowed(operation, role) && isOfMoney(operation))
    .map((operation) => ({ ...anyCallMove(dice, by, operation), query: { limit: '1000' } }));
}

/** Mostly changes that the role may make, and mostly of what decides about money; sometimes anything. */
function anyOperation(dice: Dice, role: Role): Operation {
  const all = allOperations();
  const allowed = all.filter((operation) => isAllowed(operation, role));
  const changes = allowed.filter(({ method, path }) => method !== 'GET' && (dice.chance(0.2) || !isEnd(path)));
  const luck = dice.below(100);
  if (luck < 35) return dice.one(changes.filter((one) => isOfMoney(one) && one.method === 'PATCH'));
  if (luck < 65) return dice.one(changes.filter(isOfMoney));
  if (luck < 78) return dice.one(changes);
  return dice.one(luck < 94 ? allowed : all);
}

/** Too many of these end everything early. */
const isEnd = (path: string) => path.endsWith('/revoke');

function anyCallMove(dice: Dice, by: number, operation: Operation) {
  return { move: 'call', by, operation: operation.name, ...anyCall(dice, operation) } as const;
}

function anyMessages(dice: Dice): CompanyMove[] {
  const moves: CompanyMove[] = [];
  for (let sends = dice.between(1, 3); sends > 0; sends--) {
    moves.push({
      move: 'send',
      secret: dice.below(SECRETS),
      times: dice.one([1, 1, 2, 4]),
      isStream: dice.chance(0.4),
      wanted: anyWanted(dice, MODELS),
      leavesAt: dice.chance(0.15) ? anyLeavePoint(dice) : null,
      hasIdempotencyKey: dice.chance(0.3),
      tags: dice.chance(0.3) ? `cost_centre=cc-other, ${PINNED}=mine, team=mine` : null,
    });
    if (dice.chance(0.2)) moves.push({ move: 'leave', back: dice.below(2), times: 2 });
    if (dice.chance(0.3))
      moves.push(
        { move: 'wait', ms: dice.one([100, 9_000]) },
        { move: 'again', back: dice.below(3), times: dice.one([1, 4]), luck: dice.below(1_000) },
      );
    moves.push({ move: 'wait', ms: dice.one([0, 100, 2_000, 20_000]) });
  }
  return moves;
}

/** A message with each of several secrets, before anything else happens. */
function atOnce(dice: Dice): CompanyMove[] {
  const of = { times: 1, isStream: false, leavesAt: null, hasIdempotencyKey: false, tags: null };
  const wanted = { ...anyWanted(dice, STEADY), prompt: text('prose', 60), answer: text('prose', 60), maxTokens: 16 };
  return Array.from({ length: SECRETS / 2 }, (_, secret) => ({ ...of, move: 'send', secret, wanted }));
}

/** More than any limit of a person, at once and then one after another. */
function allOf(dice: Dice, secret: number): CompanyMove[] {
  const of = { secret, leavesAt: null, hasIdempotencyKey: false, tags: null };
  const wanted = { ...anyWanted(dice, ['quarters', 'kinds', 'late']), answer: text('prose', 9_000) };
  return [
    { ...of, move: 'send', times: 3, isStream: dice.chance(0.3), wanted },
    { move: 'wait', ms: 25_000 },
    { ...of, move: 'send', times: 1, isStream: true, wanted },
    { move: 'wait', ms: 25_000 },
  ];
}

/** Files and batches of any of them, over any ids. */
function anyObjects(dice: Dice): CompanyMove[] {
  const moves: CompanyMove[] = [];
  const secret = () => dice.below(SECRETS);
  for (let left = dice.between(0, 5); left > 0; left--) {
    const luck = dice.below(100);
    if (luck < 15) moves.push(...anyBulkBatch(dice, secret()));
    else if (luck < 36) moves.push(...anyBatch(dice, secret()));
    else if (luck < 62) moves.push({ move: 'ask', secret: secret(), what: dice.one(ASKS), place: dice.below(PLACES) });
    else if (luck < 72)
      moves.push({
        move: 'upload',
        secret: secret(),
        purpose: dice.one(['batch', 'user_data']),
        bytes: dice.one([10, 3_000, 60_000]),
        seconds: dice.chance(0.3) ? 3_600 : null,
      });
    else if (luck < 78) moves.push({ move: 'reuse', secret: secret(), place: dice.below(PLACES) });
    else if (luck < 92) moves.push({ move: 'buy', secret: secret(), wish: anyGoods(dice) });
    else if (luck < 94) moves.push(anyPrice(dice));
    else if (luck < 95) moves.push({ move: 'restart' });
    else if (luck < 97) moves.push({ move: 'kill' });
    else moves.push({ move: 'batch beside', items: [anyWanted(dice, STEADY), anyWanted(dice, STEADY)] });
    if (dice.chance(0.4)) moves.push({ move: 'wait', ms: dice.one([50, 300, 2_000, 20_000]) });
  }
  return moves;
}

function anyPrice(dice: Dice): CompanyMove {
  return {
    move: 'price',
    multiplier: dice.one(['0.5', '1', '2']),
    price: dice.one([1, 1, 3]),
    group: dice.one(['1', '1', '2']),
  };
}

function anyBatch(dice: Dice, secret: number): CompanyMove[] {
  const form = dice.one(['messages', 'messages', 'chat', 'images', 'moderations'] as const);
  const count = dice.one([1, 2, 5, 12, 40]);
  const item = () =>
    form === 'images' || form === 'moderations'
      ? { ...anyGoods(dice), use: form === 'images' ? ('images' as const) : ('moderation' as const) }
      : { ...anyWanted(dice, MODELS), maxTokens: dice.one([64, 1_000, 4_000]) };
  const odd = dice.chance(0.15) ? dice.one(['streamed', 'unknown', 'twice'] as const) : null;
  const batch: CompanyMove = { move: 'batch', secret, form, odd, items: Array.from({ length: count }, item) };
  if (dice.chance(0.6)) return [batch];
  // Something happens while its requests run.
  const meanwhile = dice.one([{ move: 'kill' }, anyPrice(dice), { move: 'restart' }] as const);
  return [batch, { move: 'wait', ms: dice.one([100, 1_200, 3_000]) }, meanwhile];
}

/** A batch that providers run, and what happens meanwhile. */
function anyBulkBatch(dice: Dice, secret: number): CompanyMove[] {
  const form = dice.one(['messages', 'chat'] as const);
  const some = dice.chance(0.7) ? [dice.one(dialects)] : dialects;
  const items = Array.from({ length: dice.one([1, 2, 5, 12]) }, () => anyBulk(dice, dice.one(some)));
  const moves: CompanyMove[] = [{ move: 'batch', secret, form, odd: null, items }];
  const cancel = form === 'chat' ? ('cancel batch of file' as const) : ('cancel' as const);
  for (let left = dice.between(0, 3); left > 0; left--)
    moves.push(
      dice.one([
        { move: 'kill' },
        { move: 'kill', steps: dice.between(1, 30) },
        { move: 'kill', steps: dice.between(1, 150) },
        { move: 'kill', steps: dice.between(1, 150) },
        anyPrice(dice),
        { move: 'restart' },
        { move: 'ask', secret, what: dice.one(ASKS), place: -1 },
        { move: 'ask', secret, what: cancel, place: -1 },
      ] as const),
      { move: 'wait', ms: dice.one([40, 300, 1_100, 2_000, 3_000, 40_000]) },
    );
  return moves;
}

function anyGoods(dice: Dice): Wish {
  return { use: dice.one(goods), amount: dice.between(1, 5), fails: dice.chance(0.2) };
}

function anyWanted(dice: Dice, models: readonly ModelName[]): Wanted {
  return {
    model: dice.one(models),
    prompt: text(dice.one(['prose', 'code', 'digits']), dice.between(60, 3_000)),
    file: null,
    thinking: 0,
    tool: null,
    uses: 0,
    resultTokens: 0,
    answer: text(dice.one(['prose', 'code', 'cjk']), dice.between(300, 6_000)),
    ending: 'answer',
    maxTokens: 4_000,
    isBetaBad: false,
    luck: dice.below(1_000),
  };
}
