// Lists in the matrix: what each principal sees under each query parameter, and what a cursor reveals to a principal
// that it was not created for.

import type { Json } from '../installation.ts';
import { type Cell, type CellsRun, isMine, ownObject, plainCell, ruleOf, send, tryCell } from './cells.ts';
import type { Operation } from './operations.ts';
import type { QueryValue } from './query-values.ts';
import { isOver, type Principal, type World, type WorldObject } from './world.ts';

/** Tries one parameter with one value, or none if `asked` is null. */
export async function tryList(
  world: World,
  operation: Operation,
  principal: Principal,
  { query, asked }: { query: string; asked: QueryValue | null },
  run: CellsRun,
): Promise<void> {
  run.count++;
  const plain = plainCell(world, operation, principal, ownObject(world, operation, principal));
  const path = asked === null ? plain.path : `${plain.path}?${query}=${asked.value}`;
  if (plain.expected === 404 && asked?.isWrong === true) return; // either is at fault
  const expected = plain.expected < 300 && asked !== null ? statusOfQuery(principal, asked) : plain.expected;
  const { answer, faults } = await tryCell(world, { ...plain, path, expected });
  run.faults.push(...faults);
  const { lists, counts } = ruleOf(operation.name);
  if (answer.status !== 200 || (lists ?? counts) === null) return;
  const right = world.objects
    .filter((object) => object.kind === (lists ?? counts) && isMine(operation, principal, object))
    .filter((object) => asked?.keeps(object) ?? true)
    .filter((object) => isListed(operation, principal, object, { query, asked }));
  if (counts !== null) {
    const counted = (answer.body['total'] === undefined ? answer.body['data'] : [answer.body['total']]) as Json[];
    const messages = counted.reduce((sum, one) => sum + Number(one['messages']), 0);
    if (messages !== right.length) run.faults.push(`${principal.name}: ${path} counts ${messages} of ${right.length}`);
    return;
  }
  const [shown, wanted] = [idsOf(answer.body).toSorted(), right.map(({ id }) => id).toSorted()];
  if (!Bun.deepEquals(shown, wanted))
    run.faults.push(`${principal.name}: ${path} lists ${shown.length} of ${wanted.length} objects, or others`);
}

/** Accounts below are listed when a filter names one or asks for them; the list of accounts has them in any case. */
function isListed(
  { name }: Operation,
  { account }: Principal,
  object: WorldObject,
  { query, asked }: { query: string; asked: QueryValue | null },
): boolean {
  if (account === null || account === object.account || name === 'GET /api/v1/accounts') return true;
  return asked?.reachesBelow === true || query === 'ids' || (asked?.names ?? null) !== null;
}

/** A filter by object is answered like a path: an object of another account does not exist. */
function statusOfQuery(principal: Principal, { names, isWrong }: QueryValue): number {
  if (isWrong) return 400;
  if (names === null) return 200;
  return names !== 'none' && maySee(principal, names) ? 200 : 404;
}

function maySee(principal: Principal, object: WorldObject): boolean {
  if (principal.account === null) return true;
  if (!isOver(principal, object.account)) return false;
  return principal.role === 'owner' || object.kind === 'account' || object.maker === principal.name;
}

/**
 * Sends the cursors of every principal as every other principal: a cursor from a principal with a different view is
 * invalid.
 */
export async function tryCursors(world: World, operation: Operation, run: CellsRun): Promise<void> {
  const cells = world.principals
    .map((principal) => plainCell(world, operation, principal, ownObject(world, operation, principal)))
    .filter(({ expected }) => expected < 300);
  const cursors = [];
  for (const cell of cells)
    for (const limit of [1, 2]) {
      const { next_cursor: cursor } = (await send(world.installation, paged(cell, `limit=${limit}`))).body;
      if (cursor !== null) cursors.push({ cursor, sight: viewOf(cell) });
    }
  const forged = Buffer.from('1').toString('base64url');
  for (const cell of cells) {
    const whole = rowsOf((await send(world.installation, paged(cell, 'limit=1000'))).body);
    for (const { cursor, sight } of [...cursors, { cursor: forged, sight: 'nobody' }]) {
      run.count++;
      const expected = sight === viewOf(cell) ? 200 : 400;
      const { answer, faults } = await tryCell(world, { ...paged(cell, `limit=1000&cursor=${cursor}`), expected });
      run.faults.push(...faults);
      if (rowsOf(answer.body).some((row) => !whole.includes(row)))
        run.faults.push(`${cell.principal.name}: ${cell.path} shows more with a cursor`);
    }
  }
}

/** Principals with the same view of a list: operators and viewers, the owners of an account, each member. */
function viewOf({ principal, path }: Cell): string {
  return `${path} ${principal.account} ${principal.role === 'member' ? principal.name : ''}`;
}

function paged(cell: Cell, query: string): Cell {
  return { ...cell, path: `${cell.path}?${query}` };
}

function idsOf(body: Json): string[] {
  return (body['data'] as Json[]).map((row) => String(row['request_id'] ?? row['id']));
}

function rowsOf(body: Json): string[] {
  return ((body['data'] as Json[] | undefined) ?? []).map((row) => JSON.stringify(row));
}
