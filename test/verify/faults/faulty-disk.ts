// Runs the service as a separate process on a real SQLite file whose disk fails on command. The faults occur at the
// operating system's level (disk-faults.c); nothing in the service is replaced.

import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { attachTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

const compiler = Bun.which('gcc') ?? Bun.which('cc');

/** Tests are skipped where the faults cannot be injected; under CI that is a failure. */
export const cannotFault = process.platform !== 'linux' || !canCompile();

const FAULTS = ['none', 'full', 'read-only', 'write-fails', 'sync-fails', 'sync-loses', 'power-cut'] as const;
/**
 * `full`: only writes that do not extend a file succeed. `sync-fails`: written pages stay readable. `sync-loses`:
 * unsynced pages are lost. `power-cut`: unsynced pages are lost and the process is killed.
 */
export type Fault = (typeof FAULTS)[number];

// Offsets of the numbers in the control file.
const FAULT = 0;
const SYNC_MS = 1;
const GIVEN = 2;
const SYNCED = 3;
const HANGING = 4;

export interface Disk {
  set(fault: Fault): void;
  /** Delays each later fsync by this time. */
  slow(ms: number): void;
  /** Makes fsync block until `slow` is called. */
  hang(): void;
  /** Number of injected faults. */
  readonly given: number;
  /** Number of successful fsyncs. */
  readonly synced: number;
  /** Number of delayed fsyncs in progress. */
  readonly hanging: number;
}

/** A service on such a disk. */
export interface Faulty extends Turnpike {
  disk: Disk;
  child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>;
  /** Log output on standard error. */
  log(): string;
  /** Kills it, and resolves when it has ended. */
  kill(): Promise<void>;
}

let preloaded: string | null = null;

/** Whether a compiler and the system's headers are installed. */
function canCompile(): boolean {
  if (compiler === null) return false;
  return Bun.spawnSync([compiler, '-E', '-'], { stdin: Buffer.from('#include <stdlib.h>\n') }).exitCode === 0;
}

/** Builds the preloaded library once. */
function build(): string {
  if (preloaded !== null) return preloaded;
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-faults-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'disk-faults.so');
  const source = join(import.meta.dir, 'disk-faults.c');
  const built = Bun.spawnSync([compiler ?? 'cc', '-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', path, source]);
  if (built.exitCode !== 0) throw new Error(`disk-faults.c: ${built.stderr.toString()}`);
  preloaded = path;
  return path;
}

export interface Spawned {
  child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>;
  disk: Disk & Disposable;
}

/** Starts the service on `dataDirectory`, with the fault active from the start. */
export function spawnOnDisk(dataDirectory: string, fault: Fault = 'none'): Spawned {
  const controlFile = join(mkdtempSync(join(tmpdir(), 'turnpike-disk-')), 'control');
  writeFileSync(controlFile, new Uint8Array(20));
  const disk = openDisk(controlFile);
  disk.set(fault);
  const main = join(rootDirectory, 'src/main.ts');
  const child = Bun.spawn([process.execPath, main, 'serve', '--listen', '127.0.0.1:0', '--data', dataDirectory], {
    env: {
      PATH: '/usr/bin:/bin',
      LD_PRELOAD: build(),
      DISK_FAULTS_CONTROL: controlFile,
      DISK_FAULTS_DIRECTORY: `${dataDirectory}/`,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  return { child, disk };
}

/** Starts it on `dataDirectory`, or on a new one, which is removed at the end. */
export async function startOnDisk(dataDirectory?: string): Promise<Faulty> {
  const directory = dataDirectory ?? mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const { child, disk } = spawnOnDisk(directory);
  let log = '';
  void keep(child.stderr, (text) => {
    log += text;
  });
  const turnpike = await attachTurnpike(child.stdout, directory).catch((failure) => {
    throw new Error(`${failure}\n${log}`);
  });
  const kill = async () => {
    child.kill('SIGKILL');
    await child.exited;
  };
  const stop = async () => {
    disk.set('none');
    disk.slow(0);
    child.kill('SIGTERM');
    await child.exited;
    disk[Symbol.dispose]();
    if (dataDirectory === undefined) rmSync(directory, { recursive: true, force: true });
  };
  return { ...turnpike, disk, child, log: () => log, kill, stop, [Symbol.asyncDispose]: stop };
}

/** Polls a condition. Throws on a timeout. */
export async function until(what: string, isSo: () => unknown, seen: () => unknown = () => null): Promise<void> {
  for (let tries = 0; tries < 2_000; tries++) {
    if (await isSo()) return;
    await Bun.sleep(10);
  }
  const is = JSON.stringify(seen());
  throw new Error(`waited in vain: ${what}${is === 'null' ? '' : `, but there is ${is}`}`);
}

function openDisk(controlFile: string): Disk & Disposable {
  const file = openSync(controlFile, 'r+');
  const write = (place: number, value: number) => writeSync(file, new Int32Array([value]), 0, 4, place * 4);
  const read = (place: number) => {
    const value = new Int32Array(1);
    readSync(file, value, 0, 4, place * 4);
    return value[0] as number;
  };
  return {
    set: (fault) => write(FAULT, FAULTS.indexOf(fault)),
    slow: (ms) => write(SYNC_MS, ms),
    hang: () => write(SYNC_MS, -1),
    get given() {
      return read(GIVEN);
    },
    get synced() {
      return read(SYNCED);
    },
    get hanging() {
      return read(HANGING);
    },
    [Symbol.dispose]() {
      closeSync(file);
      rmSync(join(controlFile, '..'), { recursive: true, force: true });
    },
  };
}

async function keep(stream: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for await (const bytes of stream) take(decoder.decode(bytes, { stream: true }));
}
