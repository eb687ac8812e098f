// Authorization: every route × every principal × every object × every field that a body can have. Routes come from
// the running application; the expected results are in matrix/policy.ts.

import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from './installation.ts';
import { bodyRules } from './matrix/body-values.ts';
import {
  type Cell,
  type CellsRun,
  describe as describeCell,
  isMine,
  objectsFor,
  objectsOfEveryKind,
  ownObject,
  plainCell,
  ruleOf,
  send,
  tryCells,
  UNKNOWN_IDS,
} from './matrix/cells.ts';
import { tryCursors, tryList } from './matrix/lists.ts';
import {
  everyMemberName,
  type OpenapiDocument,
  type Operation,
  readDocument,
  readOperations,
} from './matrix/operations.ts';
import { policy } from './matrix/policy.ts';
import { valuesOfQuery } from './matrix/query-values.ts';
import {
  type AccountName,
  groupsOf,
  makeWorld,
  modelsOf,
  type Principal,
  restoreWorld,
  type World,
  type WorldObject,
} from './matrix/world.ts';

const SHOWN_FAULTS_MAX = 25;
const DAY_MS = 86_400_000;
const DAYS_OF_NAMES = 3;

let world: World;
let document: OpenapiDocument;
let operations: Operation[];
beforeAll(async () => {
  world = await makeWorld();
  document = await readDocument(world.installation);
  operations = readOperations(document);
});
beforeEach(() => restoreWorld(world));

describe('the matrix', () => {
  test('has a row for every documented route, and for no other', () => {
    expect(Object.keys(policy).toSorted()).toEqual(operations.map(({ name }) => name).toSorted());
  });

  test('covers every route, because routes are added only by their documented definition', () => {
    const folder = join(import.meta.dir, '../../../src/admin-api');
    const faults = readdirSync(folder)
      .filter((file) =>
        /\b(?:app|router)\s*\.\s*(?:get|post|put|patch|delete|all|on|route|mount)\s*\(/.test(textOf(folder, file)),
      )
      .filter((file) => file !== 'openapi.ts') // the document itself, which every client may read
      .filter((file) => file !== 'scim-app.ts'); // tokens of one role only, which test/contract/scim/access.test.ts tries
    expect(faults).toEqual([]);
  });

  test('has values for every body field, query parameter and path id', () => {
    const missing = operations.flatMap(({ name, members, queryParameters, pathParameters }) => [
      ...(members ?? []).filter((member) => valuesOf(name)[member] === undefined).map((member) => `${name} ${member}`),
      ...queryParameters
        .filter((query) => valuesOfQuery(world, name, query) === null)
        .map((query) => `${name}?${query}`),
      ...(pathParameters.length === (ruleOf(name).object === null ? 0 : 1) ? [] : [`${name}: what its path names`]),
    ]);
    expect(missing).toEqual([]);
    const superfluous = operations.flatMap(({ name, members }) =>
      Object.keys(valuesOf(name)).filter((member) => !members?.includes(member)),
    );
    expect(superfluous).toEqual([]);
  });
});

test('every route answers every principal, for every object, as the policy says, and a refusal changes nothing', async () => {
  const cells = operations.flatMap((operation) =>
    world.principals.flatMap((principal) =>
      objectsFor(world, operation).map((object) => plainCell(world, operation, principal, object)),
    ),
  );
  check(await tryCells(world, cells), 2_000);
});

test('every body field is accepted from the principals that may set it, and never gives a principal more rights', async () => {
  const cells = withBody().flatMap((operation) =>
    principalsOfEveryKind().flatMap((principal, principalAt) =>
      objectsOfEveryKind(world, operation, principal).flatMap((object) => {
        const account = object === 'none' ? null : (object?.account ?? principal.account ?? 'alpha');
        const plain = plainCell(world, operation, principal, object);
        return Object.entries(valuesOf(operation.name)).flatMap(([member, variants]) =>
          variants
            // A principal that may not call the route sends one value of each field, each such principal another.
            .filter((_, at) => ![401, 403].includes(plain.expected) || at === principalAt % variants.length)
            .map(({ members, value, isBeyond }) =>
              withMembers(plain, members ?? { [member]: value }, isBeyond(principal, account, object)),
            ),
        );
      }),
    ),
  );
  check(await tryCells(world, cells), 5_000);
});

test('an unknown body field is refused by name, for every principal', async () => {
  // Every day each name with some routes, and each route with some names; within three days each name with each route.
  const day = Math.floor(Date.now() / DAY_MS);
  const names = [...everyMemberName(document), 'made_by', 'madeBy', 'accountId', 'constructor', '__proto__'];
  const principals = principalsOfEveryKind();
  const cells = withBody().flatMap((operation, at) => {
    const plain = (principal: Principal) =>
      plainCell(world, operation, principal, ownObject(world, operation, principal));
    const allowed = principals.filter((principal) => plain(principal).expected < 300);
    return names
      .filter((name) => !operation.members?.includes(name))
      .flatMap((name, nameAt) => {
        if ((at + nameAt + day) % DAYS_OF_NAMES !== 0) return [];
        // In turn one that may call the route, and any: every name with every principal would be 100,000 requests.
        const among = nameAt % 2 === 0 && allowed.length > 0 ? allowed : principals;
        const principal = among[(at + nameAt) % among.length] as Principal;
        return [withMembers(plain(principal), JSON.parse(`{"${name}":"operator"}`), true)];
      });
  });
  check(await tryCells(world, cells), 4_000);
});

test('an object that a principal may not see is answered exactly like one that does not exist', async () => {
  const faults: string[] = [];
  let count = 0;
  const compare = async (cell: Cell, id: string, unknownId: string) => {
    count++;
    const other = JSON.parse(JSON.stringify([cell.path, cell.body ?? null]).replaceAll(id, unknownId));
    const unknown: Cell = { ...cell, path: other[0], body: other[1] ?? undefined };
    const [one, another] = [await send(world.installation, cell), await send(world.installation, unknown)];
    const [first, second] = [inGeneral(one.text, id), inGeneral(another.text, unknownId)];
    if (one.status !== another.status || first !== second)
      faults.push(`${describeCell(cell)}: ${one.status} ${first}, and ${another.status} ${second}`);
  };
  for (const principal of onePrincipalOfEachRole())
    for (const operation of operations) {
      for (const object of objectsOfEveryKind(world, operation, principal)) {
        if (object === null || object === 'none' || isMine(operation, principal, object)) continue;
        await compare(plainCell(world, operation, principal, object), object.id, UNKNOWN_IDS[object.kind]);
      }
      for (const object of firstOfEachKind(world.objects.filter((one) => one.account !== principal.account))) {
        const unknownId = UNKNOWN_IDS[object.kind];
        const cell = plainCell(world, operation, principal, ownObject(world, operation, principal));
        // Without `actor` and `group`: a principal may find its own changes by `actor`, and a group may have the name
        // of a provider.
        for (const query of operation.queryParameters.filter((name) => !['actor', 'group'].includes(name)))
          await compare({ ...cell, path: `${cell.path}?${query}=${object.id}` }, object.id, unknownId);
        if (operation.members?.includes('account') && object.kind === 'account')
          await compare({ ...cell, body: { ...cell.body, account: object.id } }, object.id, unknownId);
      }
    }
  check({ count, faults }, 1_000);
});

describe('a list', () => {
  test('has everything that the principal may see, narrowed by the filters', async () => {
    const run: CellsRun = { count: 0, faults: [] };
    for (const operation of operations.filter(({ queryParameters }) => queryParameters.length > 0))
      for (const principal of principalsOfEveryKind())
        for (const query of ['', ...operation.queryParameters])
          for (const asked of query === '' ? [null] : (valuesOfQuery(world, operation.name, query) ?? []))
            await tryList(world, operation, principal, { query, asked }, run);
    check(run, 1_000);
  });

  test('of groups or models has those sold to the account', async () => {
    for (const principal of world.principals.filter(({ isKnown, account }) => isKnown && account !== null)) {
      const account = principal.account as AccountName;
      expect([principal.name, await namesOf('groups', principal)]).toEqual([
        principal.name,
        groupsOf[account].toSorted(),
      ]);
      expect([principal.name, await namesOf('models', principal)]).toEqual([
        principal.name,
        modelsOf[account].toSorted(),
      ]);
    }
  });

  test('of audit records has every record of the account, and none of another', async () => {
    for (const principal of world.principals.filter(({ isKnown, role }) => isKnown && role !== 'member')) {
      const ofAccount = world.objects.filter(({ account }) => account === principal.account).map(({ id }) => id);
      const { audit } = world.installation.stores.tables;
      const records = audit.filter(({ object }) => principal.account === null || ofAccount.includes(object));
      const { body } = await ask('/api/v1/audit?limit=1000', principal);
      expect([principal.name, (body['data'] as Json[]).length]).toEqual([principal.name, records.length]);
    }
  });

  test('shows nothing of another account, whichever principal’s cursor is used', async () => {
    const run: CellsRun = { count: 0, faults: [] };
    for (const operation of operations.filter(({ queryParameters }) => queryParameters.includes('cursor')))
      await tryCursors(world, operation, run);
    check(run, 500);
  });
});

test('an idempotency key reveals nothing to another principal, and creates one object', async () => {
  const run: CellsRun = { count: 0, faults: [] };
  const known = world.principals.filter(({ isKnown }) => isKnown);
  for (const operation of operations.filter(({ isCreation }) => isCreation))
    for (const first of known) {
      const plain = plainCell(world, operation, first, ownObject(world, operation, first));
      if (plain.expected >= 300) continue;
      for (const second of known) {
        run.count++;
        run.faults.push(...(await tryTwice({ ...plain, headers: { 'idempotency-key': 'the-same' } }, second)));
      }
    }
  check(run, 50);
});

/**
 * Sends the same cell as its principal and then as `second`. The second response repeats the first only if both are
 * the same principal.
 */
async function tryTwice(cell: Cell, second: Principal): Promise<string[]> {
  await restoreWorld(world);
  const made = marksIn(await send(world.installation, cell), cell);
  const again: Cell = { ...cell, principal: second };
  const answer = await send(world.installation, again);
  const shared = made.filter((mark) => answer.text.includes(mark));
  const isRight = second === cell.principal ? shared.length === made.length : shared.length === 0;
  return isRight
    ? []
    : [`${describeCell(again)} after ${cell.principal.name}: ${shared.length} of ${made.length} marks`];
}

/** The ids and secrets in a response that the request did not contain. */
function marksIn({ text }: { text: string }, { path, body }: Cell): string[] {
  const asked = `${path} ${JSON.stringify(body)}`;
  const marks = text.match(/(?:acct|key|tok|person)_[0-9A-Za-z]{9}|(?:sk-tp|tk-tp|tk-inv)-[0-9A-Za-z]{20,}/g) ?? [];
  const own = [...world.principals.map(({ id }) => id), ...Object.values(world.accountIds)];
  return marks.filter((mark) => !asked.includes(mark) && !own.includes(mark));
}

/** The cell with more body fields. If they exceed the principal's rights (`isBeyond`), it must be refused. */
function withMembers(cell: Cell, more: Json, isBeyond: boolean): Cell {
  const body = { ...cell.body, ...more };
  if (!isBeyond) return { ...cell, body };
  if (cell.expected < 300) return { ...cell, body, expected: 400 };
  // Whether the body or the object is checked first does not matter: neither error reveals anything.
  return { ...cell, body, ...([404, 409].includes(cell.expected) && { orElse: 400 }) };
}

/** Every principal with a valid token, and one without. */
function principalsOfEveryKind(): Principal[] {
  return world.principals.filter(({ isKnown, name }) => isKnown || name === 'nobody');
}

/** One principal of each role in each account. */
function onePrincipalOfEachRole(): Principal[] {
  const ofAccounts = world.principals.filter(({ isKnown, account }) => isKnown && account !== null);
  const alike = Map.groupBy(ofAccounts, ({ role, account }) => `${role} ${account}`);
  return [...alike.values()].map(([first]) => first as Principal);
}

function withBody(): Operation[] {
  return operations.filter(({ members }) => members !== null);
}

function valuesOf(name: string) {
  return bodyRules[name]?.values(world) ?? {};
}

async function ask(path: string, { authorization }: Principal) {
  return world.installation.ask('GET', path, undefined, { authorization: authorization ?? '' });
}

async function namesOf(what: string, principal: Principal): Promise<unknown[]> {
  const { body } = await ask(`/api/v1/${what}`, principal);
  return (body['data'] as Json[]).map(({ name }) => name).toSorted();
}

function firstOfEachKind(objects: readonly WorldObject[]): WorldObject[] {
  return [...Map.groupBy(objects, ({ kind }) => kind).values()].map(([first]) => first as WorldObject);
}

/** A response without the parts that differ between any two responses. */
function inGeneral(text: string, id: string): string {
  return text.replaceAll(id, '<id>').replace(/"request_id":"[^"]*"/, '');
}

function textOf(folder: string, file: string): string {
  return readFileSync(join(folder, file), 'utf8');
}

function check({ count, faults }: CellsRun, countLeast: number): void {
  const more = faults.length > SHOWN_FAULTS_MAX ? [`… and ${faults.length - SHOWN_FAULTS_MAX} more`] : [];
  expect([...faults.slice(0, SHOWN_FAULTS_MAX), ...more]).toEqual([]);
  expect(count).toBeGreaterThan(countLeast);
}
