// Reads a file for `apply`: YAML with the line of every member kept, numbers that are not whole as
// the text that was written, ${NAME} expanded in texts. What it means is the service's to say, also
// of a file that has faults already: they are to be named together.

import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseAllDocuments,
  type Scalar,
} from 'yaml';
import type { Fault } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import type { JsonObject, JsonValue } from '../wire/wire.ts';
import { CommandFailed } from './command.ts';
import type { ApplyFile } from './serve-options.ts';

export interface LinedFault extends Fault {
  line: number;
}

/** A file that cannot be applied; the message has every fault, one a line, in the order of the file. */
export class FileBroken extends CommandFailed {
  override name = 'FileBroken';
  readonly faults: readonly LinedFault[];
  constructor(file: string, faults: readonly LinedFault[]) {
    const sorted = faults.toSorted((one, other) => one.line - other.line);
    super([`${file} was not applied`, ...sorted.map((fault) => describe(file, fault))].join('\n'));
    this.faults = sorted;
  }
}

export interface ReadApplyFile extends ApplyFile {
  /** Faults were found already: the document may be tried for more of them, and not be applied. */
  hasFaults: boolean;
  /** The document stands for all of the file, so that what the service says of it is true. */
  isWhole: boolean;
  /** The end of this file: its own faults and those that the service found. */
  broken(faults: readonly Fault[]): FileBroken;
}

interface Reading {
  document: JsonObject;
  faults: LinedFault[];
  /** Where a variable is not there, and another text stands in its place. */
  placeholders: Path[];
  /** As in ReadApplyFile. */
  isWhole: boolean;
  lineOf(path: Path): number;
}

type Lookup = (name: string) => string | undefined;
type Path = Fault['path'];

const PLACEHOLDER = 'unset'; // stands for a variable that is not there, so that the rest can be looked at

/** A file without a fault. Throws CommandFailed when it cannot be read, FileBroken with every fault of its form. */
export async function readFaultlessFile(file: string, environmentVariable: Lookup): Promise<ApplyFile> {
  const read = await readApplyFile(file, environmentVariable);
  if (read.hasFaults) throw read.broken([]);
  return read;
}

/** A file with the faults of its form. Throws CommandFailed when it cannot be read. */
export async function readApplyFile(file: string, environmentVariable: Lookup): Promise<ReadApplyFile> {
  const text = await readFile(file, 'utf8').catch((thrown: Error) => {
    throw new CommandFailed(`cannot read ${file}: ${thrown.message}`);
  });
  const { document, faults, placeholders, isWhole, lineOf } = readApplyText(text, environmentVariable);
  const withLine = (fault: Fault): LinedFault => ({ ...fault, line: lineOf(fault.path) });
  return {
    document,
    hasFaults: faults.length > 0,
    isWhole,
    describeFault: (fault) => describe(file, withLine(fault)),
    broken(found) {
      const sure = found.filter(({ path }) => !placeholders.some((placeholder) => isOfPlaceholder(path, placeholder)));
      return new FileBroken(file, [...faults, ...sure.map(withLine)]);
    },
  };
}

/** Whether what the service says at `path` is said of a placeholder; a provider's credentials depend on its address. */
function isOfPlaceholder(path: Path, placeholder: Path): boolean {
  if (isDeepStrictEqual(placeholder, path)) return true;
  const provider = placeholder.slice(0, -1);
  const isCredential = path.at(-1) === 'api_key' && isDeepStrictEqual(path.slice(0, provider.length), provider);
  return placeholder.at(-1) === 'base_url' && isCredential;
}

/** The file's text as JSON values. `lineOf` gives the line of a member, or of what should have it. */
export function readApplyText(text: string, environmentVariable: Lookup): Reading {
  const reader = new YamlReader(environmentVariable);
  const document = reader.read(text);
  const { faults, placeholders, isWhole } = reader;
  return { document, faults, placeholders, isWhole, lineOf: (path) => reader.lineOf(path) };
}

function describe(file: string, { line, path, message }: LinedFault): string {
  return `${file}:${line}: ${path.length === 0 ? '' : `${path.join('.')}: `}${message}`;
}

class YamlReader {
  readonly faults: LinedFault[] = [];
  readonly placeholders: Path[] = [];
  isWhole = false;
  readonly #environmentVariable: Lookup;
  readonly #counter = new LineCounter();
  readonly #lines = new Map<string, number>([['[]', 1]]);
  #nodesLeft: number = bounds.applyNodesMax;

  constructor(environmentVariable: Lookup) {
    this.#environmentVariable = environmentVariable;
  }

  read(text: string): JsonObject {
    // Whole numbers as bigint, so that one with too many digits is noticed and not rounded. Doubled keys are found below, with their names.
    const options = { lineCounter: this.#counter, intAsBigInt: true, prettyErrors: false, uniqueKeys: false };
    const parsed = parseAllDocuments(text, options);
    const documents = 'empty' in parsed ? [] : parsed;
    for (const { errors, warnings } of documents)
      for (const { pos, message } of [...errors, ...warnings]) this.#fault([], message, pos[0]);
    const [document, second] = documents;
    if (second !== undefined) this.#fault([], 'a file has one document only', second.range?.[0]);
    if (this.faults.length > 0) return {};
    if (!isMap(document?.contents)) {
      this.#fault([], 'must have members such as "models:" and "groups:"', document?.contents?.range?.[0]);
      return {};
    }
    this.isWhole = true;
    return this.#valueOf(document.contents, [], document) as JsonObject;
  }

  lineOf(path: Path): number {
    for (let length = path.length; length > 0; length--) {
      const line = this.#lines.get(JSON.stringify(path.slice(0, length)));
      if (line !== undefined) return line;
    }
    return 1;
  }

  #valueOf(node: unknown, path: Path, document: Document.Parsed | Document): JsonValue {
    // Aliases may repeat a part of the file, and in a circle without end.
    if (--this.#nodesLeft < 0 || path.length > bounds.jsonDepthMax) {
      if (this.#nodesLeft === -1 || path.length > bounds.jsonDepthMax) this.#fault(path, 'has too many parts');
      this.isWhole = false;
      return null;
    }
    if (isAlias(node)) return this.#valueOf(node.resolve(document), path, document);
    if (isMap(node)) return this.#objectOf(node.items, path, document);
    if (isSeq(node)) return node.items.map((member, at) => this.#memberOf(member, [...path, at], document));
    return isScalar(node) ? this.#scalarOf(node, path) : null;
  }

  #objectOf(pairs: readonly Pair[], path: Path, document: Document): JsonObject {
    const members = new Map<string, JsonValue>();
    for (const { key, value } of pairs) {
      const name = nameOf(key);
      if (name === null) {
        this.#fault(path, 'the name of a member must be a text', offsetOf(key));
        continue;
      }
      const memberPath = [...path, name];
      if (members.has(name)) {
        this.#fault(memberPath, `is given twice, first on line ${this.lineOf(memberPath)}`, offsetOf(key));
        continue;
      }
      this.#lines.set(JSON.stringify(memberPath), this.#lineAt(offsetOf(key)));
      members.set(name, this.#valueOf(value, memberPath, document));
    }
    return Object.fromEntries(members);
  }

  #memberOf(member: unknown, path: Path, document: Document): JsonValue {
    this.#lines.set(JSON.stringify(path), this.#lineAt(offsetOf(member)));
    return this.#valueOf(member, path, document);
  }

  #scalarOf(scalar: Scalar, path: Path): JsonValue {
    const { value, source } = scalar;
    if (typeof value === 'string') return this.#expanded(value, path, offsetOf(scalar));
    if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) return Number(value);
    if (typeof value === 'bigint' || typeof value === 'number') return source ?? String(value);
    return typeof value === 'boolean' ? value : null;
  }

  #expanded(text: string, path: Path, offset: number | undefined): string {
    return text.replace(/\$\{([^}]*)\}/g, (whole, name: string) => {
      const value = /^[A-Za-z_]\w*$/.test(name) ? this.#environmentVariable(name) : undefined;
      if (value !== undefined) return value;
      if (name.startsWith('TURNPIKE_'))
        this.#fault(path, `${whole}: the service's own variables are not given out`, offset);
      else this.#fault(path, `${whole}: there is no such environment variable`, offset);
      this.placeholders.push([...path]);
      return PLACEHOLDER;
    });
  }

  #fault(path: Path, message: string, offset?: number): void {
    const line = offset === undefined ? this.lineOf(path) : this.#lineAt(offset);
    this.faults.push({ line, path: [...path], message });
  }

  #lineAt(offset: number | undefined): number {
    return Math.max(1, this.#counter.linePos(offset ?? 0).line);
  }
}

/** A member's name as it was written: 4.10 is not 4.1. Null for what is no plain name. */
function nameOf(key: unknown): string | null {
  if (!isScalar(key)) return null;
  return typeof key.value === 'string' ? key.value : (key.source ?? null) || null;
}

function offsetOf(node: unknown): number | undefined {
  return (node as { range?: [number, number, number] | null } | null)?.range?.[0];
}
