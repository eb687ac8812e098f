// Kills starts at chosen statements of their migrations, one after the other on the same data, and compares with whole migrations.

import { expect } from 'bun:test';
import { join } from 'node:path';
import type { Tables } from './read-tables.ts';

/** One start: the statements that it began. If it was killed, the last of them was not carried out. */
export interface Start {
  statements: string[];
  isKilled: boolean;
}

/** A store whose migrations can be killed. Each copy is as it was before any start. */
export interface Subject<Copy> {
  copy(): Promise<Copy>;
  /** 0: is not killed. */
  start(copy: Copy, killAt: number): Promise<Start>;
  read(copy: Copy, columns?: Tables['columns']): Promise<Tables>;
}

/** Whole migrations of a copy. Statements are counted from 1. */
export interface Course {
  statements: string[];
  /** The numbers of the statements that begin and commit a version. */
  begins: number[];
  commits: number[];
  /** The tables before each version that is killed and the next, and after the last. */
  tables: Tables[];
}

/** Which versions are killed: all, at each statement or at their commits; or the first, at each statement. */
export type Depth = 'statements' | 'commits' | 'first';

/** Every statement from the oldest state, which stops at all versions; each commit of an empty database; the first version of the others. */
export function depthOf(name: string): Depth {
  if (name === 'nothing') return 'commits';
  return /^version-8\b/.test(name) ? 'statements' : 'first';
}

/** Runs the migrations whole, and others that end at the beginning of each version that is killed and of the next. */
export async function takeCourse<Copy>(subject: Subject<Copy>, depth: Depth): Promise<Course> {
  const whole = await subject.copy();
  const { statements } = await subject.start(whole, 0);
  const find = (pattern: RegExp) => statements.flatMap((text, at) => (pattern.test(text) ? [at + 1] : []));
  const begins = find(/^BEGIN\b/i);
  const commits = find(/^COMMIT$/i);
  const tables: Tables[] = [];
  for (const begin of depth === 'first' ? begins.slice(0, 2) : begins) {
    const copy = await subject.copy();
    expect(await subject.start(copy, begin)).toEqual({ statements: statements.slice(0, begin), isKilled: true });
    tables.push(await subject.read(copy));
  }
  tables.push(await subject.read(whole));
  return { statements, begins, commits, tables };
}

export function choosePoints({ statements, begins, commits }: Course, depth: Depth): number[] {
  const all = statements.map((_, at) => at + 1);
  if (depth === 'statements') return all;
  if (depth === 'first') return all.filter((point) => point <= (commits[0] as number));
  const last = commits.at(-1) as number;
  return all.filter((point) => point <= (begins[0] as number) || commits.includes(point) || point > last);
}

/** Those that change tables, up to the last commit. */
export function chooseChanges({ statements, commits }: Course): number[] {
  const changes = statements.flatMap((text, at) => (/^(?:BEGIN|CREATE|ALTER|COMMIT)\b/i.test(text) ? [at + 1] : []));
  return changes.filter((point) => point <= (commits.at(-1) as number));
}

/** Columns whose values a migration changes. */
const CHANGED = ['people.email', 'public.people.email'];

/** Returns the copy, which is migrated in the end. */
export async function killAtEach<Copy>(
  subject: Subject<Copy>,
  course: Course,
  points: readonly number[],
): Promise<Copy> {
  const { statements, begins, commits, tables } = course;
  const copy = await subject.copy();
  const columns = Object.fromEntries(
    Object.entries((await subject.read(copy)).columns).map(([table, names]) => [
      table,
      names.filter((name) => !CHANGED.includes(`${table}.${name}`)),
    ]),
  );
  const { rows } = await subject.read(copy, columns);
  const firstBegin = begins[0] as number;
  // In an empty database, a start first asks whether its role may create tables.
  const isAsked = statements.some((text) => text.includes('has_schema_privilege(current_schema()'));
  const makesFirst = 1 + statements.findIndex((text) => text.startsWith('CREATE TABLE IF NOT EXISTS schema_versions'));
  let done = 0;
  let before = 0;
  for (const point of points) {
    // A start on tables of this version has the statements before the first version, and those from this one on.
    const unasked = isAsked && before > makesFirst ? 1 : 0;
    const skipped = (begins[done] ?? (commits.at(-1) as number) + 1) - firstBegin + unasked;
    const { isKilled, statements: begun } = await subject.start(copy, point - skipped);
    expect([isKilled, begun.at(-1)]).toEqual([true, statements[point - 1]]);
    done = commits.filter((commit) => commit < point).length;
    before = point;
    if (point >= firstBegin) expect(await subject.read(copy)).toEqual(tables[done] as Tables);
  }
  expect((await subject.start(copy, 0)).isKilled).toBe(false);
  expect(await subject.read(copy)).toEqual(tables.at(-1) as Tables);
  expect((await subject.read(copy, columns)).rows).toEqual(rows);
  return copy;
}

const PROGRAM = join(import.meta.dir, 'migrate.ts');

/** Runs migrate.ts. `withChild` is given the process as soon as it runs. */
export async function runMigrations(
  given: readonly string[],
  withChild: (child: { kill(signal: 'SIGKILL'): void }) => void = () => {},
): Promise<Start> {
  const child = Bun.spawn([process.execPath, PROGRAM, ...given], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  withChild(child);
  const [printed, failure] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const isKilled = child.signalCode === 'SIGKILL';
  if (!isKilled && child.exitCode !== 0) throw new Error(failure);
  return { statements: printed.split('\n').slice(0, -1), isKilled };
}
