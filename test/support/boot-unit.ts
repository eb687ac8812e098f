// Boots systemd in a container of its own (systemd-nspawn), which starts a unit as on a machine. The container sees the programs of
// this machine and the project, read-only, and no network but its own loopback.

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../check.ts';

const START_MS_MAX = 90_000;
const STOP_MS_MAX = 30_000;
const LOOK_MS = 200;
const USER_ID = 990;

export interface Booted extends AsyncDisposable {
  /** Runs a command in the container, as root, and returns its output. Throws if it fails. */
  run(...command: string[]): string;
  /** Runs it until `isDone` accepts its output. */
  wait(isDone: (output: string) => boolean, ...command: string[]): Promise<string>;
}

/** Only root can start containers, and not everywhere: a container mostly cannot. */
export function canBoot(): boolean {
  const programs = ['systemd-nspawn', 'nsenter', 'unshare', 'curl'];
  if (process.getuid?.() !== 0 || programs.some((name) => Bun.which(name) === null)) return false;
  const apart = ['unshare', '--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup', '--fork'];
  return Bun.spawnSync([...apart, 'mount', '-t', 'proc', 'proc', '/proc']).exitCode === 0;
}

/** Resolves when systemd runs and has been told to start the unit, whose project is at /opt/turnpike. */
export async function bootUnit(unit: string): Promise<Booted> {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-systemd-'));
  const umask = process.umask(0o022); // a service in this process sets another one; the user of the unit reads these files
  writeRoot(root, unit);
  const log = `${root}.log`;
  const modules = realpathSync(join(rootDirectory, 'node_modules'));
  const child = Bun.spawn(
    [
      ...['systemd-nspawn', '--quiet', `--directory=${root}`, '--register=no', '--keep-unit', '--private-network'],
      ...['--bind-ro=/usr', `--bind-ro=${rootDirectory}:/opt/turnpike`, `--bind-ro=${modules}`, '--console=pipe'],
      ...['--boot', 'systemd.unit=test.target'],
    ],
    { stdin: 'ignore', stdout: Bun.file(log), stderr: Bun.file(log) },
  );
  process.umask(umask);
  const enter = (command: readonly string[]) => {
    const leader = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')[0] ?? '';
    const given = ['nsenter', `--target=${leader}`, '--mount', '--net', '--pid', '--uts', '--ipc', '--cgroup'];
    return Bun.spawnSync([...given, ...command]);
  };
  const wait = async (isDone: (output: string) => boolean, ...command: string[]) => {
    let output = '';
    for (const untilMs = Date.now() + START_MS_MAX; Date.now() < untilMs; await Bun.sleep(LOOK_MS)) {
      if (child.exitCode !== null) break;
      output = enter(command).stdout.toString();
      if (isDone(output)) return output;
    }
    const journal = enter(['journalctl', '--no-pager', '--unit=turnpike', '--lines=20']).stdout;
    throw new Error(`${command.join(' ')}: ${output}\n${journal}\n${readFileSync(log, 'utf8')}`);
  };
  const stop = async () => {
    child.kill('SIGTERM'); // systemd-nspawn shuts the container down
    await Promise.race([child.exited, Bun.sleep(STOP_MS_MAX)]);
    child.kill('SIGKILL');
    await child.exited;
    for (const path of [root, log]) rmSync(path, { recursive: true, force: true });
  };
  try {
    await wait((state) => state.trim() !== '', 'systemctl', 'show', '--value', '--property=Version');
  } catch (failure) {
    await stop();
    throw failure;
  }
  return {
    run(...command) {
      const { exitCode, stdout, stderr } = enter(command);
      if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stdout}${stderr}`);
      return stdout.toString();
    },
    wait,
    [Symbol.asyncDispose]: stop,
  };
}

/** The files of the container that are not those of this machine. */
function writeRoot(root: string, unit: string): void {
  chmodSync(root, 0o755); // for the user of the service
  for (const folder of ['usr', 'opt/turnpike', 'var', 'run', 'proc', 'sys', 'dev', 'tmp', 'etc/systemd/system'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(root, name));
  const etc = (name: string, text: string) => writeFileSync(join(root, 'etc', name), text);
  etc('os-release', readFileSync('/etc/os-release', 'utf8'));
  etc('machine-id', '');
  etc(
    'passwd',
    `${readFileSync('/etc/passwd', 'utf8')}turnpike:x:${USER_ID}:${USER_ID}::/var/lib/turnpike:/bin/false\n`,
  );
  etc('group', `${readFileSync('/etc/group', 'utf8')}turnpike:x:${USER_ID}:\n`);
  etc('systemd/system/turnpike.service', unit);
  etc('systemd/system/test.target', '[Unit]\nRequires=basic.target\nAfter=basic.target\nWants=turnpike.service\n');
}
