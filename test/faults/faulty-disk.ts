// The service as a process of its own, on a real SQLite file, on a disk that fails when a test says so. The faults
// are the operating system's as SQLite sees it (disk-faults.c); nothing of the service is replaced. No tests of its own.

import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../check.ts';
import { attachTurnpike, type Turnpike } from '../support/start-turnpike.ts';

const compiler = Bun.which('gcc') ?? Bun.which('cc');

/** Where they cannot be made, tests are skipped, which counts as failed under CI. */
export const cannotFault = process.platform !== 'linux' || !canCompile();

const FAULTS = ['none', 'full', 'read-only', 'write-fails', 'sync-fails', 'sync-loses', 'power-cut'] as const;
/**
 * `full`: what makes no file longer can still be written. `sync-fails`: what was written stays readable. `sync-loses`:
 * what was not synced is gone, as after a page was dropped. `power-cut`: all of that is gone, and the process too.
 */
export type Fault = (typeof FAULTS)[number];

// The places of the numbers in the control file.
const FAULT = 0;
const SYNC_MS = 1;
const GIVEN = 2;
const SYNCED = 3;
const HANGING = 4;

export interface Disk {
  set(fault: Fault): void;
  /** Each fsync takes so much longer from now on. */
  slow(ms: number): void;
  /** An fsync does not come back until `slow` is called. */
  hang(): void;
  /** How many faults were given. */
  readonly given: number;
  /** How many fsyncs went well. */
  readonly synced: number;
  /** How many fsyncs are being delayed. */
  readonly hanging: number;
}

/** A service on such a disk. */
export interface Faulty extends Turnpike {
  disk: Disk;
  child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>;
  /** What it has written on standard error, the log. */
  log(): string;
  /** Kills it, and resolves when it is gone. */
  kill(): Promise<void>;
}

let preloaded: string | null = null;

/** Whether there is a compiler, and the headers of the system. */
function canCompile(): boolean {
  if (compiler === null) return false;
  return Bun.spawnSync([compiler, '-E', '-'], { stdin: Buffer.from('#include <stdlib.h>\n') }).exitCode === 0;
}

/** Builds what is preloaded, once. */
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

/** Starts the service on `dataDirectory`, whose disk has the fault from the beginning. */
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

/** Waits for a condition. Throws when it does not come. */
export async function until(what: string, isSo: () => unknown): Promise<void> {
  for (let tries = 0; tries < 2_000; tries++) {
    if (await isSo()) return;
    await Bun.sleep(10);
  }
  throw new Error(`waited in vain: ${what}`);
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
