// Reads a file for `apply`: YAML with the line of every member, fractions as the text that was written, and ${NAME}
// expanded in texts. The service validates the content, also of a file with faults, so that all are reported together.

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
import { exactNumber } from '../base/checked-number.ts';
import type { Fault } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { JsonObject, JsonValue } from '../wire/wire.ts';
import { type ApplyFile, CommandFailed } from './command.ts';

interface LinedFault extends Fault {
  line: number;
}

/** A file that cannot be applied; the message has one line per fault, in the order of the file. */
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
  /** The file itself has faults: the document may be sent as a dry run only. */
  hasFaults: boolean;
  /** The document has every part of the file, so the service's faults about it are true. */
  isWhole: boolean;
  /** The error with the file's own faults and those that the service found. */
  broken(faults: readonly Fault[]): FileBroken;
}

type Lookup = (name: string) => string | undefined;
type Path = Fault['path'];

const PLACEHOLDER = 'unset'; // replaces a variable that is not set, so that the rest can be validated

/** Reads a file. Throws CommandFailed when it cannot be read, FileBroken when it has faults. */
export async function readFaultlessFile(file: string, environmentVariable: Lookup): Promise<ApplyFile> {
  const read = await readApplyFile(file, environmentVariable);
  if (read.hasFaults) throw read.broken([]);
  return read;
}

/** Reads a file together with its faults. Throws CommandFailed when it cannot be read. */
export async function readApplyFile(file: string, environmentVariable: Lookup): Promise<ReadApplyFile> {
  const text = await readFile(file, 'utf8').catch((thrown: Error) => {
    throw new CommandFailed(`cannot read ${file}: ${thrown.message}`);
  });
  const read = new YamlReader(text, environmentVariable);
  const { document, faults, placeholders, isWhole } = read;
  const withLine = (fault: Fault): LinedFault => ({ ...fault, line: read.lineOf(fault.path) });
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

/** Whether a fault at `path` is caused by a placeholder. A provider's credential depends on its base_url. */
function isOfPlaceholder(path: Path, placeholder: Path): boolean {
  if (isDeepStrictEqual(placeholder, path)) return true;
  const provider = placeholder.slice(0, -1);
  const isCredential = path.at(-1) === 'api_key' && isDeepStrictEqual(path.slice(0, provider.length), provider);
  return placeholder.at(-1) === 'base_url' && isCredential;
}

function describe(file: string, { line, path, message }: LinedFault): string {
  return `${file}:${line}: ${path.length === 0 ? '' : `${path.join('.')}: `}${message}`;
}

/** Parses a text into JSON values. */
export class YamlReader {
  readonly document: JsonObject;
  readonly faults: LinedFault[] = [];
  /** Where a variable is not set and PLACEHOLDER replaces it. */
  readonly placeholders: Path[] = [];
  /** As in ReadApplyFile. */
  isWhole = false;
  readonly #environmentVariable: Lookup;
  readonly #counter = new LineCounter();
  readonly #lines = new Map<string, number>([['[]', 1]]);
  #nodesLeft: number = bounds.applyNodesMax;

  constructor(text: string, environmentVariable: Lookup) {
    this.#environmentVariable = environmentVariable;
    this.document = this.#read(text);
  }

  #read(text: string): JsonObject {
    // Whole numbers are bigint, so that a long one is not rounded. Duplicate keys are reported below, by name.
    const options = { lineCounter: this.#counter, intAsBigInt: true, prettyErrors: false, uniqueKeys: false };
    const parsed = parseAllDocuments(text, options);
    const documents = 'empty' in parsed ? [] : parsed;
    for (const { errors, warnings } of documents)
      for (const { pos, message } of [...errors, ...warnings]) this.#fault([], message, pos[0]);
    const [document, second] = documents;
    if (second !== undefined) this.#fault([], 'the file must have a single YAML document', second.range?.[0]);
    if (this.faults.length > 0) return {};
    if (!isMap(document?.contents)) {
      this.#fault([], 'must be a mapping with keys such as "models:" and "groups:"', document?.contents?.range?.[0]);
      return {};
    }
    this.isWhole = true;
    return this.#valueOf(document.contents, [], document) as JsonObject;
  }

  /** The line of a member, or of its nearest parent. */
  lineOf(path: Path): number {
    for (let length = path.length; length > 0; length--) {
      const line = this.#lines.get(JSON.stringify(path.slice(0, length)));
      if (line !== undefined) return line;
    }
    return 1;
  }

  #valueOf(node: unknown, path: Path, document: Document.Parsed | Document): JsonValue {
    // Aliases can repeat a part of the file, even without end.
    if (--this.#nodesLeft < 0 || path.length > bounds.jsonDepthMax) {
      if (this.#nodesLeft === -1 || path.length > bounds.jsonDepthMax)
        this.#fault(path, 'is too large or nested too deeply');
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
        this.#fault(path, 'keys must be strings', offsetOf(key));
        continue;
      }
      const memberPath = [...path, name];
      if (members.has(name)) {
        this.#fault(memberPath, `is a duplicate key; the first is on line ${this.lineOf(memberPath)}`, offsetOf(key));
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
    if (typeof value === 'bigint' && isSafe(value)) return exactNumber(value);
    if (typeof value === 'bigint' || typeof value === 'number') return source ?? String(value);
    return typeof value === 'boolean' ? value : null;
  }

  #expanded(text: string, path: Path, offset: number | undefined): string {
    return text.replace(/\$\{([^}]*)\}/g, (whole, name: string) => {
      const value = /^[A-Za-z_]\w*$/.test(name) ? this.#environmentVariable(name) : undefined;
      if (value !== undefined) return value;
      if (name.startsWith('TURNPIKE_'))
        this.#fault(path, `${whole}: variables of the service cannot be used in the file`, offset);
      else this.#fault(path, `${whole}: the environment variable is not set`, offset);
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

/** A member's name as written: 4.10 is not 4.1. Null when it is not a scalar. */
function nameOf(key: unknown): string | null {
  if (!isScalar(key)) return null;
  return typeof key.value === 'string' ? key.value : (key.source ?? null) || null;
}

function offsetOf(node: unknown): number | undefined {
  return (node as { range?: [number, number, number] | null } | null)?.range?.[0];
}

function isSafe(value: bigint): boolean {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER);
}
