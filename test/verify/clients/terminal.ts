// A program in a terminal of its own (`script`), with a copy of /etc in which it finds managed files: a test reads its screen and types.

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const WAIT_MS_MAX = 60_000;

/** A place for one user: home, working directory and /etc. */
export class Machine implements AsyncDisposable {
  readonly root: string = mkdtempSync(join(tmpdir(), 'turnpike-machine-'));
  readonly home: string = join(this.root, 'home');
  readonly work: string = join(this.root, 'work');
  readonly #etc: string = join(this.root, 'etc');
  readonly #environment: Record<string, string>;

  /** `files` below /etc. */
  constructor(files: Record<string, string>, environment: Record<string, string> = {}) {
    for (const place of [this.home, this.work]) mkdirSync(place);
    cpSync('/etc', this.#etc, { recursive: true, verbatimSymlinks: true });
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.#etc, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    this.#environment = { PATH: process.env['PATH'] ?? '', HOME: this.home, TERM: 'xterm-256color', ...environment };
  }

  /** Whether processes may have an /etc of their own here. */
  static get isAvailable(): boolean {
    return Bun.which('script') !== null && Bun.spawnSync(['unshare', '-rm', 'true']).exitCode === 0;
  }

  #command(words: readonly string[]): string[] {
    const inside = `mount --bind ${this.#etc} /etc && cd ${this.work} && exec "$@"`;
    return ['unshare', '-rm', 'sh', '-c', inside, 'sh', ...words];
  }

  /** Runs to the end, without a terminal. */
  async run(words: readonly string[], more: Record<string, string> = {}, msMax = WAIT_MS_MAX) {
    const env = { ...this.#environment, ...more };
    const child = Bun.spawn(this.#command(words), {
      env,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      timeout: msMax,
    });
    const [out, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { exitCode: await child.exited, out, errors };
  }

  open(words: readonly string[]): Terminal {
    const quoted = this.#command(words).map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    return new Terminal(`stty cols 140 rows 50; exec ${quoted.join(' ')}`, this.#environment);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.root, { recursive: true, force: true });
  }
}

export class Terminal implements AsyncDisposable {
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>;
  #printed = '';
  /** Where the text begins that has not been waited for. */
  #seen = 0;

  constructor(command: string, env: Record<string, string>) {
    this.#child = Bun.spawn(['script', '-qfec', command, '/dev/null'], {
      env,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    });
    void this.#read();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.#child.stdout) this.#printed += decoder.decode(chunk, { stream: true });
  }

  /** Everything that was printed, without control sequences and without spaces, which a terminal moves over instead. */
  get text(): string {
    return plain(this.#printed);
  }

  /** Waits until the words are printed after the last ones that were waited for. Throws with the screen. */
  async see(words: string): Promise<void> {
    const wanted = words.replaceAll(' ', '');
    const untilMs = performance.now() + WAIT_MS_MAX;
    for (;;) {
      const text = this.text;
      const at = text.indexOf(wanted, this.#seen);
      if (at >= 0) {
        this.#seen = at + wanted.length;
        return;
      }
      if (performance.now() > untilMs) throw new Error(`"${words}" was not printed after: ${text.slice(this.#seen)}`);
      await Bun.sleep(50);
    }
  }

  /** Waits until something printed matches, also before what was waited for. Throws with the screen. */
  async find(pattern: RegExp): Promise<string> {
    const untilMs = performance.now() + WAIT_MS_MAX;
    for (;;) {
      const found = pattern.exec(this.text)?.[0];
      if (found !== undefined) return found;
      if (performance.now() > untilMs) throw new Error(`${pattern} was not printed: ${this.text}`);
      await Bun.sleep(50);
    }
  }

  /** Types the keys again and again, because a program may not read them yet, until the words are printed. */
  async typeUntil(keys: string, words: string): Promise<void> {
    const wanted = words.replaceAll(' ', '');
    const untilMs = performance.now() + WAIT_MS_MAX;
    for (let at = 0; at % 10 === 0 || !this.text.includes(wanted, this.#seen); at++) {
      if (performance.now() > untilMs) break;
      if (at % 10 === 0) await this.type(keys);
      await Bun.sleep(50);
    }
    await this.see(words);
  }

  async type(keys: string): Promise<void> {
    this.#child.stdin.write(keys);
    await this.#child.stdin.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#child.exited;
  }
}

// The escape character is not written in a regular expression, where it would be an invisible character.
const ESCAPE = String.fromCharCode(27);
const BELL = String.fromCharCode(7);
/** Titles and links, sequences of cursor and color, other sequences, and single control characters but line feeds. */
const CONTROLS = [
  `${ESCAPE}\\][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)`,
  `${ESCAPE}[[(][0-?]*[ -/]*[@-~]`,
  `${ESCAPE}[=>78]`,
  '(?!\\n)\\p{Cc}| ',
].map((part) => new RegExp(part, 'gu'));

function plain(text: string): string {
  return CONTROLS.reduce((left, part) => left.replace(part, ''), text);
}
