// Builds the files of console/: scripts, split by page; style sheets, with the library's styles of the components that are
// used; the page; and the script that runs first, which knows the scripts of each page.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { BunPlugin } from 'bun';
import type { EarlyScripts } from '../console/early-load.ts';
import { renderFirstPages } from '../console/first-pages.tsx';
import { firstPageName } from '../console/first-table.ts';
import { publicScreens, readingScreens, screens } from '../console/screens.ts';

export interface ConsoleFile {
  type: string;
  bytes: Uint8Array;
}

const root = resolve(import.meta.dir, '..');
const sources = join(root, 'console');
const MAIN = 'main.tsx';
const SIGN_IN = 'features/sign-in/form.ts';
const FIRST = 'first-content.ts';
const library = join(root, 'node_modules/@mantine');
const shared = { target: 'browser', minify: true, throw: false } as const;

/** The files by name: index.html, and others with a hash of their content. Throws the bundler's messages. */
export async function buildConsole(): Promise<Map<string, ConsoleFile>> {
  const built = await Bun.build({
    ...shared,
    entrypoints: [MAIN, SIGN_IN, FIRST].map((name) => join(sources, name)),
    splitting: true,
    metafile: true,
    publicPath: '/console/',
    naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]' },
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [scrollTablesNatively],
  });
  throwFailure(built);
  const files = new Map<string, ConsoleFile>();
  for (const output of built.outputs)
    files.set(basename(output.path), { type: output.type, bytes: new Uint8Array(await output.arrayBuffer()) });
  const outputs = readOutputs(built);
  const add = (name: string, type: string, bytes: Uint8Array) => {
    const hash = hashOf(bytes);
    const [, stem, ending] = /^(.*)\.(\w+)$/.exec(name) ?? [];
    files.set(`${stem}-${hash}.${ending}`, { type, bytes });
    return `/console/${stem}-${hash}.${ending}`;
  };
  const style = (name: string, text: string) => add(name, 'text/css;charset=utf-8', Buffer.from(minifyStyles(text)));
  const drawn = await addFirstPages(files);
  const laterStyles = basename(style('later.css', readStyles(['notifications/styles.css', 'charts/styles.css'])));
  const places = {
    './icon.svg': add('icon.svg', 'image/svg+xml', readFileSync(join(sources, 'icon.svg'))),
    './styles.css': style(
      'styles.css',
      `${componentStyles(outputs)}\n${readFileSync(join(sources, 'styles.css'), 'utf8')}`,
    ),
    './early.ts': add(
      'early.js',
      'text/javascript;charset=utf-8',
      await buildEarly({ ...scriptsOf(outputs), drawn, laterStyles }),
    ),
  };
  let page = readFileSync(join(sources, 'index.html'), 'utf8');
  for (const [place, address] of Object.entries(places)) {
    if (!page.includes(`"${place}"`)) throw new Error(`index.html has no "${place}"`);
    page = page.replaceAll(`"${place}"`, `"${address}"`);
  }
  files.set('index.html', { type: 'text/html;charset=utf-8', bytes: Buffer.from(page.replace(/\n\s+/g, '\n')) });
  return files;
}

function hashOf(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 8);
}

/** Adds what pages without data show first. Returns the hash in their names, which is one, so that early.ts names none of them. */
async function addFirstPages(files: Map<string, ConsoleFile>): Promise<string> {
  const pages = await renderFirstPages();
  const hash = hashOf(JSON.stringify(pages));
  for (const [path, byRole] of Object.entries(pages))
    files.set(firstPageName(path, hash), { type: 'application/json', bytes: Buffer.from(JSON.stringify(byRole)) });
  return hash;
}

/** Tables of the console scroll natively. The library's other way would add 17 KB to every page with a table. */
const scrollTablesNatively: BunPlugin = {
  name: 'scroll tables natively',
  setup: (build) => {
    build.onLoad({ filter: /Table\/TableScrollContainer\.mjs$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const contents = text.replace(/import \{ ScrollArea \} from .*/, "const ScrollArea = 'div';");
      if (contents === text) throw new Error(`${path} no longer imports ScrollArea`);
      return { contents, loader: 'js' };
    });
  },
};

/** Runs before the first paint, so it is a file of its own. */
async function buildEarly(scripts: EarlyScripts): Promise<Uint8Array> {
  const built = await Bun.build({
    ...shared,
    entrypoints: [join(sources, 'early.ts')],
    format: 'iife',
    define: { EARLY_SCRIPTS: JSON.stringify(scripts) },
  });
  throwFailure(built);
  const [script] = built.outputs;
  if (script === undefined) throw new Error('early.ts gave no script');
  return new Uint8Array(await script.arrayBuffer());
}

function throwFailure({ success, logs }: Bun.BuildOutput): void {
  if (!success) throw new Error(logs.map(String).join('\n'));
}

interface Output {
  entryPoint?: string;
  inputs: Record<string, unknown>;
  imports: readonly { path: string; kind: string }[];
}

/** The bundler's description of the scripts, by their names. */
function readOutputs({ metafile }: Bun.BuildOutput): ReadonlyMap<string, Output> {
  const described = Object.entries((metafile?.outputs ?? {}) as Record<string, Output>);
  return new Map(described.map(([path, output]) => [basename(path), output]));
}

/** The scripts of main.tsx, and those that each page needs besides. */
function scriptsOf(outputs: ReadonlyMap<string, Output>): Omit<EarlyScripts, 'laterStyles' | 'drawn'> {
  const withImports = (name: string, found = new Set<string>()): Set<string> => {
    const output = outputs.get(name);
    if (output === undefined || found.has(name)) return found;
    found.add(name);
    for (const { path, kind } of output.imports) if (kind === 'import-statement') withImports(basename(path), found);
    return found;
  };
  const scriptOf = (source: string) => {
    const found = [...outputs].find(([, { entryPoint }]) => entryPoint !== undefined && resolve(entryPoint) === source);
    if (found === undefined) throw new Error(`no script was made of ${source}`);
    return found[0];
  };
  const names: string[] = [];
  const placeOf = (name: string) => (names.includes(name) ? names.indexOf(name) : names.push(name) - 1);
  const scriptsFor = (source: string) => [...withImports(scriptOf(join(sources, source)))];
  const main = scriptsFor(MAIN);
  const pages = [...screens, ...publicScreens, ...readingScreens].map(({ path, load }) => {
    const [, source = ''] = /import\("(.+?)"\)/.exec(String(load)) ?? [];
    const further = scriptsFor(source).filter((name) => !main.includes(name));
    return [path, further.map(placeOf)] as const;
  });
  return {
    main: main.map(placeOf),
    signIn: scriptsFor(SIGN_IN).map(placeOf),
    first: scriptsFor(FIRST).map(placeOf),
    pages: Object.fromEntries(pages),
    openPaths: [...publicScreens, ...readingScreens].map(({ path }) => path),
    names,
  };
}

/** Styles that every page needs, whichever components it has. */
const GENERAL_STYLES = ['baseline', 'default-css-variables', 'global'];

/** The styles of the components that the scripts contain, in the library's order. */
function componentStyles(outputs: ReadonlyMap<string, Output>): string {
  const inputs = [...outputs.values()].flatMap((output) => Object.keys(output.inputs));
  const used = inputs.flatMap((path) => /@mantine\/core\/.*\/(\w+)\.module\.mjs$/.exec(path)?.[1] ?? []);
  const whole = readStyles(['core/styles.css']);
  const names = [...new Set(used)].filter((name) => existsSync(join(library, 'core/styles', `${name}.css`)));
  const texts = [...GENERAL_STYLES, ...names].map((name) => readStyles([`core/styles/${name}.css`]));
  const placeOf = (text: string) => {
    const place = whole.indexOf(text.trim());
    if (place < 0) throw new Error(`the library's styles do not contain ${text.slice(0, 80)}`);
    return place;
  };
  return texts.sort((one, other) => placeOf(one) - placeOf(other)).join('\n');
}

function readStyles(names: readonly string[]): string {
  return names.map((name) => readFileSync(join(library, name), 'utf8')).join('\n');
}

/** Removes comments and needless spaces. The bundler would add forms for old browsers, which are as long as the styles. */
function minifyStyles(text: string): string {
  return text
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .replace(/;\}/g, '}');
}
