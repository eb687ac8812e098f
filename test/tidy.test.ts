// The shape of the project as tests: which folder may import which, one door a folder, sizes, names,
// where the environment is read, where SQL and the network stand. What each rule is for: ARCHITECTURE.md.

import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import {
  isBindingElement,
  isCallExpression,
  isElementAccessExpression,
  isEnumDeclaration,
  isExportAssignment,
  isExportDeclaration,
  isFunctionDeclaration,
  isIdentifier,
  isImportDeclaration,
  isModuleDeclaration,
  isParameterDeclaration,
  isPropertyAccessExpression,
  isVariableDeclaration,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { rootDirectory } from './check.ts';
import {
  faultsOf,
  lineCountOf,
  lineOf,
  projectFiles,
  readSources,
  readText,
  type Source,
  textOf,
  walk,
} from './sources.ts';

const ground = ['base', 'errors', 'config'];
const domain = [...ground, 'audit', 'secrets', 'wire', 'events'];
const middle = [...domain, 'accounts', 'catalog', 'ledger', 'reports', 'usage', 'providers'];
const edge = [...middle, 'gateway', 'http'];

/** Folder, or root file without its suffix → what it may import from src/. docs/imports.md has the same table. */
const mayImport: Record<string, readonly string[]> = {
  base: [],
  errors: ['base'],
  config: ['base', 'errors'],
  audit: ground,
  secrets: ground,
  events: ground,
  wire: ground,
  traffic: ground,
  incidents: [...ground, 'events', 'traffic'],
  fronts: [...ground, 'wire', 'model-facts', 'protocols'],
  protocols: [...ground, 'wire', 'model-facts'],
  'model-facts': ground,
  tokenizer: [...ground, 'wire'],
  console: [...ground, 'http'],
  spool: ground,
  sound: ground,
  files: [...ground, 'secrets', 'spool'],
  batches: [...ground, 'audit', 'wire', 'events', 'ledger', 'spool', 'files', 'providers'],
  http: [...ground, 'spool'],
  accounts: domain,
  catalog: domain,
  ledger: domain,
  reports: [...domain, 'ledger'],
  usage: [...domain, 'sound'],
  providers: [...domain, 'model-facts', 'protocols'],
  bills: [...ground, 'audit', 'secrets', 'wire', 'events', 'catalog', 'ledger', 'reports', 'providers'],
  agents: [...ground, 'audit', 'secrets', 'accounts', 'wire'],
  credentials: [...ground, 'secrets', 'catalog'],
  payments: [...ground, 'audit', 'secrets', 'events', 'accounts', 'catalog', 'ledger'],
  delivery: [...ground, 'secrets', 'audit', 'events', 'accounts'],
  gateway: [...middle, 'tokenizer', 'files'],
  storage: [
    ...middle,
    'bills',
    'payments',
    'delivery',
    'traffic',
    'incidents',
    'agents',
    'exports',
    'files',
    'batches',
  ],
  'public-api': [...edge, 'fronts', 'agents', 'spool', 'files', 'batches', 'sound'],
  observability: [...ground, 'audit', 'ledger', 'gateway', 'public-api', 'tokenizer'],
  scim: [...ground, 'accounts'],
  'admin-api': [
    ...edge,
    'bills',
    'payments',
    'delivery',
    'traffic',
    'incidents',
    'scim',
    'agents',
    'exports',
    'batches',
  ],
  exports: [...ground, 'audit', 'secrets', 'wire', 'events', 'accounts', 'catalog', 'ledger', 'reports', 'delivery'],
  'sign-in': [...ground, 'http'],
  auth: [...ground, 'sign-in', 'storage'],
  commands: [...ground, 'wire', 'catalog', 'ledger', 'reports'],
  threads: [...ground, 'ledger', 'storage', 'auth', 'sign-in', 'tokenizer'],
  version: [],
  licenses: ['commands'],
  maintenance: [...ground, 'secrets', 'catalog', 'ledger', 'providers', 'storage', 'auth', 'commands', 'threads'],
  server: [
    ...edge,
    'public-api',
    'observability',
    'admin-api',
    'console',
    'sign-in',
    'storage',
    'commands',
    'threads',
    'bills',
    'payments',
    'delivery',
    'exports',
    'credentials',
    'traffic',
    'incidents',
    'tokenizer',
    'agents',
    'spool',
    'files',
    'batches',
  ],
  main: [...ground, 'commands', 'credentials', 'licenses', 'maintenance', 'server', 'version'],
};

/** Storage may import values of these, and only types of everything else, which it implements. */
const storageMayCall = [...ground, 'ledger', 'reports', 'storage'];

/** Every file of these may be imported: they are shelves of small parts, not rooms. */
const openFolders = ['src/base', 'src/protocols'];

/** Folders whose subfolders have a door each: they need none of their own. */
const withoutDoor = ['src/storage'];

/** Packages and modules of the runtime that only one part of src/ may use. */
const packageHomes: Record<string, RegExp> = {
  'node:process': /^src\/config\/config\.ts$/,
  'bun:sqlite': /^src\/storage\//,
  hono: /^src\/admin-api\//,
  '@hono/zod-openapi': /^src\/admin-api\//,
  'better-auth': /^src\/(?:auth\/|storage\/sign-in-database\.ts$)/,
  'gpt-tokenizer': /^src\/tokenizer\//,
  '@anthropic-ai': /^src\/tokenizer\//,
  stripe: /^src\/payments\/stripe\//,
  nodemailer: /^src\/delivery\/send-mail\.ts$/,
  'hyparquet-writer': /^src\/exports\/write-parquet\.ts$/,
  kysely: /^src\/storage\/postgres\/open-sign-in\.ts$/,
  '@smithy': /^src\/(?:providers\/(?:bedrock\/|sign-request\.ts$)|exports\/s3\.ts$|credentials\/aws-secret\.ts$)/,
  '@opentelemetry': /^src\/observability\/otlp\//,
  '@azure': /^src\/credentials\/azure-identity\.ts$/,
  '@aws-sdk': /^src\/credentials\/aws-identity\.ts$/,
  'google-auth-library': /^src\/credentials\/google-identity\.ts$/,
};

const forbiddenFolders = ['utils', 'helpers', 'common', 'services', 'handlers', 'types'];
const forbiddenNames = ['req', 'res', 'err', 'ctx', 'cfg', 'opts', 'msg'];
const sqlText =
  /\b(?:SELECT\s[\s\S]*\sFROM\s|INSERT\s+(?:OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|CREATE\s+(?:UNIQUE\s+)?(?:TABLE|INDEX)\s|ALTER\s+TABLE\s|PRAGMA\s|BEGIN\s+IMMEDIATE)/;
const fileLinesMax = 900;
const functionLinesMax = 70;

const sources = await readSources();
const ours = sources.filter((source) => source.path.startsWith('src/'));
const files = projectFiles();

interface ImportLine {
  source: Source;
  line: number;
  /** As written. */
  specifier: string;
  /** From the project's root, of a relative import; else null. */
  target: string | null;
  typeOnly: boolean;
  /** An `import()`, which loads nothing at the start. */
  isLate: boolean;
}

const imports = sources.flatMap(importsOf);

describe('imports', () => {
  test('point downward only', () => {
    const faults = imports.filter(({ source, target }) => {
      if (!source.path.startsWith('src/') || target === null) return false;
      const from = homeOf(source.path);
      const to = homeOf(target);
      return from !== to && !(mayImport[from] ?? []).includes(to);
    });
    expect(faults.map(describeImport)).toEqual([]);
  });

  test('of a folder go through its door', () => {
    const faults = imports.filter(({ source, target }) => {
      if (!source.path.startsWith('src/') || target === null) return false;
      return !isOpen(source.path, target);
    });
    expect(faults.map(describeImport)).toEqual([]);
  });

  test('by storage are types, but for the ledger’s pure core', () => {
    const faults = imports.filter(
      ({ source, target, typeOnly }) =>
        source.path.startsWith('src/storage/') &&
        target !== null &&
        !typeOnly &&
        !storageMayCall.includes(homeOf(target)),
    );
    expect(faults.map(describeImport)).toEqual([]);
  });

  test('of packages with one home stay there', () => {
    const faults = imports.filter(({ source, specifier }) => {
      const home = packageHomes[specifier] ?? packageHomes[specifier.split('/')[0] ?? ''];
      return source.path.startsWith('src/') && home !== undefined && !home.test(source.path);
    });
    expect(faults.map(describeImport)).toEqual([]);
  });

  test('of a start need no package but the schemas of the catalog', () => {
    const early = imports.filter(({ typeOnly, isLate }) => !typeOnly && !isLate);
    const start = ['src/main.ts', 'src/commands/serve.ts', 'src/server/server.ts', 'src/server/open-sqlite.ts'];
    const loaded = new Set([...start, 'src/threads/ledger-worker.ts']);
    for (const path of loaded)
      for (const { source, target } of early) if (source.path === path && target !== null) loaded.add(target);
    expect(loaded.size).toBeGreaterThan(100);
    const isExpected = /^(?:\.|node:|bun\b|zod$)/;
    const packages = early.filter(({ source, specifier }) => loaded.has(source.path) && !isExpected.test(specifier));
    expect(packages.map(describeImport)).toEqual([]);
  });

  test('of the console are its own, packages, and types of the admin API’s answers', () => {
    const faults = imports.filter(
      ({ source, target, typeOnly }) =>
        source.path.startsWith('console/') &&
        target !== null &&
        !target.startsWith('console/') &&
        !(typeOnly && target === 'src/admin-api/shapes.ts'),
    );
    expect(faults.map(describeImport)).toEqual([]);
  });

  test('never lead from src/ to tests or benchmarks', () => {
    const faults = imports.filter(
      ({ source, target }) => source.path.startsWith('src/') && target !== null && !target.startsWith('src/'),
    );
    expect(faults.map(describeImport)).toEqual([]);
  });
});

describe('every file', () => {
  test('opens with one to four lines that describe it', () => {
    const faults = sources.filter(({ text }) => {
      const lines = text.split('\n');
      if (lines[0]?.startsWith('#!')) lines.shift();
      const first = lines.findIndex((line) => !line.startsWith('//'));
      return first < 1 || first > 4 || lines[first] !== '';
    });
    expect(faults.map(({ path }) => path)).toEqual([]);
  });

  test(`has at most ${fileLinesMax} lines`, () => {
    const faults = files
      .filter((path) => /^(?:src|console|test|bench|bin|\.ci)\//.test(path) && !/\.json$/.test(path))
      .map((path) => ({ path, lines: (readText(path) ?? '').split('\n').length - 1 }))
      .filter(({ lines }) => lines > fileLinesMax);
    expect(faults.map(({ path, lines }) => `${path}: ${lines} lines`)).toEqual([]);
  });

  test('is named in kebab-case, in a folder whose name says what is in it', () => {
    const faults = files.filter((path) => {
      if (!/^(?:src|console|test|bench|docs|bin)\//.test(path)) return false;
      const parts = path.split('/');
      const names = [...parts.slice(0, -1), basename(path).replace(/(?:\.test)?\.[a-z]+$/, '')];
      return names.some((name) => !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name) || forbiddenFolders.includes(name));
    });
    expect(faults).toEqual([]);
  });

  test('uses no default export, enum, namespace or `private`', () => {
    expect(
      faultsOf(sources, (node, source) => {
        if (isExportAssignment(node) || node.kind === SyntaxKind.DefaultKeyword)
          return isInSwitch(node) ? null : 'default export';
        if (node.kind === SyntaxKind.ExportSpecifier && /\bas\s+default$/.test(textOf(node, source)))
          return 'default export';
        if (isEnumDeclaration(node)) return 'enum';
        if (isModuleDeclaration(node) && node.name.getText() !== 'global') return 'namespace';
        // Only a constructor has no #name.
        if (node.kind === SyntaxKind.PrivateKeyword && node.parent.kind !== SyntaxKind.Constructor)
          return 'private: #name is private when it runs, too';
        return null;
      }),
    ).toEqual([]);
  });

  test('names nothing by an abbreviation', () => {
    expect(
      faultsOf(sources, (node) => {
        const named = isParameterDeclaration(node) || isVariableDeclaration(node) || isBindingElement(node);
        if (!named || node.name === undefined || !isIdentifier(node.name)) return null;
        return forbiddenNames.includes(node.name.text) ? node.name.text : null;
      }),
    ).toEqual([]);
  });

  test('names no place of one machine and no registry', () => {
    const words = ['/work', '/tmp/bash', 'registry.npm', 'registry.yarn'].map((word) =>
      word.startsWith('/work') ? `${word}/` : `${word}`,
    );
    const faults = files.filter((path) => {
      if (path === 'test/tidy.test.ts') return false;
      const text = readText(path) ?? '';
      return words.some((word) => text.includes(word));
    });
    expect(faults).toEqual([]);
  });
});

describe('every function', () => {
  test(`has at most ${functionLinesMax} lines`, () => {
    expect(
      faultsOf(sources, (node, source) => {
        if (!isFunction(node) || isDescribeBody(node)) return null;
        const lines = lineCountOf(source, node);
        return lines > functionLinesMax ? `${lines} lines` : null;
      }),
    ).toEqual([]);
  });
});

describe('in one place only stand', () => {
  const placeFaults = (isAllowed: (path: string) => boolean, isUse: (text: string, node: Node) => boolean) =>
    faultsOf(
      ours.filter(({ path }) => !isAllowed(path)),
      (node, source) => (isUse(textOf(node, source), node) ? textOf(node, source).slice(0, 60) : null),
    );

  test('reads of the environment: src/config/config.ts', () => {
    const names = ['process.env', 'Bun.env', 'import.meta.env', "process['env']", "Bun['env']"];
    const isUse = (text: string, node: Node) =>
      ((isPropertyAccessExpression(node) || isElementAccessExpression(node)) && names.includes(text)) ||
      (isVariableDeclaration(node) && /\benv\b.*=\s*(?:process|Bun)$/s.test(text));
    expect(placeFaults((path) => path === 'src/config/config.ts', isUse)).toEqual([]);
  });

  test('SQL: src/storage', () => {
    const kinds = [SyntaxKind.StringLiteral, SyntaxKind.NoSubstitutionTemplateLiteral, SyntaxKind.TemplateExpression];
    const isUse = (text: string, node: Node) => kinds.includes(node.kind) && sqlText.test(text);
    expect(placeFaults((path) => path.startsWith('src/storage/'), isUse)).toEqual([]);
  });

  test('servers: src/http', () => {
    const isUse = (text: string, node: Node) =>
      (isPropertyAccessExpression(node) && ['Bun.serve', 'Bun.listen'].includes(text)) ||
      (isBindingElement(node) && /^serve\b/.test(text));
    expect(placeFaults((path) => path.startsWith('src/http/'), isUse)).toEqual([]);
  });

  test('calls over the network: src/providers/upstream.ts, src/credentials/request-json.ts, src/payments/stripe, src/base/call-address.ts, src/agents/relay-telemetry.ts, and the commands’ client', () => {
    const names = ['fetch', 'globalThis.fetch', 'Bun.fetch', 'Bun.connect'];
    const isUse = (_text: string, node: Node) => isCallExpression(node) && names.includes(node.expression.getText());
    const isAllowed = (path: string) =>
      /^src\/(?:providers\/upstream\.ts$|credentials\/request-json\.ts$|payments\/stripe\/|base\/call-address\.ts$|agents\/relay-telemetry\.ts$|commands\/)/.test(
        path,
      );
    expect(placeFaults(isAllowed, isUse)).toEqual([]);
  });
});

describe('the project', () => {
  test('has a door for every folder of src/', () => {
    const folders = [...new Set(ours.map(({ path }) => dirname(path)))].filter((folder) => folder !== 'src');
    const faults = folders.filter(
      (folder) =>
        ![...withoutDoor, ...openFolders].includes(folder) && !ours.some(({ path }) => path === doorOf(folder)),
    );
    expect(faults.map(doorOf)).toEqual([]);
  });

  test('has a map in ARCHITECTURE.md that names what is in src/, no more and no less', () => {
    const present = readdirSync(join(rootDirectory, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isFile() || ours.some(({ path }) => path.startsWith(`src/${entry.name}/`)))
      .map((entry) => (entry.isFile() ? entry.name : `${entry.name}/`));
    expect(namesOfMap(readText('ARCHITECTURE.md') ?? '').sort()).toEqual(present.sort());
  });

  test('has the same table of imports in docs/imports.md as here', () => {
    const names = (cell = '') => [...cell.matchAll(/`([\w-]+)`/g)].map((match) => match[1] ?? '');
    const table = readText('docs/imports.md') ?? '';
    const rows = [...table.matchAll(/^\| (`[^|]+) \| ([^|]+) \|$/gm)].flatMap(([, parts, imported]) =>
      names(parts).map((part) => [part, names(imported)]),
    );
    expect(Object.fromEntries(rows)).toEqual(mayImport);
  });

  test('has lock files that name no hosts', () => {
    const faults = files.filter((path) => path.endsWith('package-lock.json') && readText(path)?.includes('"resolved"'));
    expect(faults).toEqual([]);
  });

  test('links from its documents only to what is there', () => {
    const faults = files
      .filter((path) => path.endsWith('.md'))
      .flatMap((path) =>
        [...(readText(path) ?? '').matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)]
          .map((match) => normalize(join(dirname(path), match[1] ?? '')))
          .filter((target) => !existsSync(join(rootDirectory, target)))
          .map((target) => `${path} → ${target}`),
      );
    expect(faults).toEqual([]);
  });

  test('leaves no test alone with `only`', () => {
    const tests = sources.filter(({ path }) => path.startsWith('test/'));
    expect(
      faultsOf(tests, (node) =>
        isPropertyAccessExpression(node) && /^(?:test|it|describe)\.only$/.test(node.getText()) ? node.getText() : null,
      ),
    ).toEqual([]);
  });
});

function importsOf(source: Source): ImportLine[] {
  const found: ImportLine[] = [];
  walk(source.tree, (node) => {
    const specifier = specifierOf(node);
    if (specifier === null) return;
    const target = specifier.startsWith('.') ? normalize(join(dirname(source.path), specifier)) : null;
    const isLate = isCallExpression(node);
    found.push({ source, line: lineOf(source, node), specifier, target, typeOnly: isTypeOnly(node, source), isLate });
  });
  return found;
}

/** The module named by an import, a re-export, an `import()` or an `import('…').Type`; null for other nodes. */
function specifierOf(node: Node): string | null {
  const isImport =
    isImportDeclaration(node) ||
    isExportDeclaration(node) ||
    node.kind === SyntaxKind.ImportType ||
    (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword);
  if (!isImport) return null;
  return /(?:\bfrom\s*|\bimport\s*\(?\s*)['"]([^'"]+)['"]/.exec(node.getText())?.[1] ?? null;
}

function isTypeOnly(node: Node, source: Source): boolean {
  if (node.kind === SyntaxKind.ImportType) return true;
  const text = textOf(node, source);
  if (/^(?:import|export)\s+type\b/.test(text)) return true;
  const names = /\{([^}]*)\}/.exec(text)?.[1];
  const hasDefault = /^import\s+\w/.test(text);
  return names !== undefined && !hasDefault && names.split(',').every((name) => /^\s*(?:type\s.*)?$/s.test(name));
}

function describeImport({ source, line, specifier }: ImportLine): string {
  return `${source.path}:${line} imports ${specifier}`;
}

/** The folder of src/ that a file belongs to, or a root file's own name: "ledger", "errors". */
function homeOf(path: string): string {
  return (path.split('/')[1] ?? path).replace(/\.ts$/, '');
}

function doorOf(folder: string): string {
  return `${folder}/${basename(folder)}.ts`;
}

/** Whether `target` lies above, beside or below `from` so that no folder is entered but through its door. */
function isOpen(from: string, target: string): boolean {
  const folder = dirname(target);
  if (openFolders.includes(folder) || `${dirname(from)}/`.startsWith(`${folder}/`)) return true;
  if (target !== doorOf(folder)) return false;
  const parent = dirname(folder);
  return withoutDoor.includes(parent) || `${dirname(from)}/`.startsWith(`${parent}/`);
}

function isFunction(node: Node): boolean {
  return (
    isFunctionDeclaration(node) ||
    [
      SyntaxKind.FunctionExpression,
      SyntaxKind.ArrowFunction,
      SyntaxKind.MethodDeclaration,
      SyntaxKind.Constructor,
      SyntaxKind.GetAccessor,
      SyntaxKind.SetAccessor,
    ].includes(node.kind)
  );
}

/** A `describe` is a chapter of tests, not a function that someone must hold in mind at once. */
function isDescribeBody(node: Node): boolean {
  return isCallExpression(node.parent) && /^describe\b/.test(node.parent.expression.getText());
}

/** `default:` of a switch has the same keyword as a default export. */
function isInSwitch(node: Node): boolean {
  return node.parent.kind === SyntaxKind.DefaultClause;
}

/** The entries below `src/` in the first code block of the document that has them. */
function namesOfMap(document: string): string[] {
  const block = /```[a-z]*\n(?:(?!```)[\s\S])*?^src\/.*\n([\s\S]*?)```/m.exec(document)?.[1] ?? '';
  return block
    .split('\n')
    .filter((line) => /^ {2}\S/.test(line))
    .flatMap((line) => (line.trim().split(/ {2,}/)[0] ?? '').split(' '));
}
