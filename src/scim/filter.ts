// Filters of RFC 7644, section 3.4.2.2, and the paths of PATCH, which may contain one. Both are bounded in length and depth.

import { bounds } from '../config/config.ts';
import { type ScimType, scimFault } from './faults.ts';

type Operator = 'eq' | 'ne' | 'co' | 'sw' | 'ew' | 'gt' | 'ge' | 'lt' | 'le';
const OPERATORS: readonly string[] = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'];

export type FilterValue = string | number | boolean | null;

/** Names of attributes are in lower case, without the URN of the core schemas. */
export type Filter =
  | { kind: 'and' | 'or'; of: readonly Filter[] }
  | { kind: 'not'; of: Filter }
  | { kind: 'present'; attribute: string }
  | { kind: 'compare'; attribute: string; operator: Operator; value: FilterValue }
  /** Some value of a multi-valued attribute matches. */
  | { kind: 'some'; attribute: string; where: Filter };

/** The target of an operation of PATCH. */
export interface AttributePath {
  /** In lower case; null: of a schema extension, which this service does not store. */
  attribute: string | null;
  where: Filter | null;
  /** In lower case. */
  sub: string | null;
}

/** Throws invalidFilter. */
export function parseFilter(text: string): Filter {
  const reader = new TokenReader(text, 'invalidFilter', 'filter');
  const filter = readOr(reader, 0);
  if (reader.peek() !== null) throw reader.fault();
  return filter;
}

/** Throws invalidPath. */
export function parsePath(text: string): AttributePath {
  const reader = new TokenReader(text, 'invalidPath', 'path');
  const [attribute, ofFirst] = splitName(reader.word());
  let where: Filter | null = null;
  let sub = ofFirst;
  if (sub === null && reader.take('[')) {
    where = readOr(reader, 0);
    if (!reader.take(']')) throw reader.fault();
    if (reader.peek() !== null) {
      const rest = reader.word();
      if (!/^\.[a-z$][\w$-]*$/i.test(rest)) throw reader.fault();
      sub = rest.slice(1).toLowerCase();
    }
  }
  if (reader.peek() !== null) throw reader.fault();
  return { attribute, where, sub };
}

const CORE_URN = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/i;

/** Attribute and sub-attribute. */
function splitName(word: string): [attribute: string | null, sub: string | null] {
  const name = word.replace(CORE_URN, '').toLowerCase();
  if (name.startsWith('urn:')) return [null, null];
  const [attribute = '', sub = null] = name.split('.', 2);
  return [attribute, sub];
}

/** Texts in quotes, brackets, and words. */
const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([()[\]])|([^\s()[\]"]+))/y;

class TokenReader {
  readonly #tokens: string[] = [];
  readonly #scimType: ScimType;
  readonly #name: string;
  #at = 0;
  #terms = 0;

  constructor(text: string, scimType: ScimType, name: string) {
    this.#scimType = scimType;
    this.#name = name;
    if (text.length > bounds.scimFilterCharactersMax)
      throw scimFault(scimType, `${name}: must have at most ${bounds.scimFilterCharactersMax} characters`);
    const trimmed = text.trim();
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < trimmed.length) {
      const found = TOKEN.exec(trimmed);
      if (found === null) throw this.fault();
      this.#tokens.push(found[1] ?? found[2] ?? found[3] ?? '');
    }
  }

  /** Never quotes the text, which a client wrote. */
  fault(words = `is not a valid ${this.#name} of SCIM`) {
    return scimFault(this.#scimType, `${this.#name}: ${words}`);
  }

  peek(): string | null {
    return this.#tokens[this.#at] ?? null;
  }

  /** Whether the next token is this one, which is then passed. Words are compared in lower case. */
  take(wanted: string): boolean {
    if (this.peek()?.toLowerCase() !== wanted) return false;
    this.#at++;
    return true;
  }

  word(): string {
    const token = this.peek();
    if (token === null || /^["()[\]]/.test(token)) throw this.fault();
    this.#at++;
    return token;
  }

  value(): FilterValue {
    const token = this.peek();
    if (token === null || /^[()[\]]/.test(token)) throw this.fault();
    this.#at++;
    try {
      return JSON.parse(token.startsWith('"') ? token : token.toLowerCase()) as FilterValue;
    } catch {
      throw this.fault();
    }
  }

  countTerm(): void {
    if (++this.#terms > bounds.scimFilterTermsMax)
      throw this.fault(`must have at most ${bounds.scimFilterTermsMax} comparisons`);
  }
}

const DEPTH_MAX = 8;

function readOr(reader: TokenReader, depth: number): Filter {
  const of = [readAnd(reader, depth)];
  while (reader.take('or')) of.push(readAnd(reader, depth));
  return joinedBy('or', of);
}

function readAnd(reader: TokenReader, depth: number): Filter {
  const of = [readTerm(reader, depth)];
  while (reader.take('and')) of.push(readTerm(reader, depth));
  return joinedBy('and', of);
}

function joinedBy(kind: 'and' | 'or', of: readonly Filter[]): Filter {
  const [first, second] = of;
  return first !== undefined && second === undefined ? first : { kind, of };
}

function readTerm(reader: TokenReader, depth: number): Filter {
  if (depth > DEPTH_MAX) throw reader.fault(`must nest at most ${DEPTH_MAX} brackets`);
  if (reader.take('not')) {
    if (reader.peek() !== '(') throw reader.fault();
    return { kind: 'not', of: readTerm(reader, depth + 1) };
  }
  if (reader.take('(')) {
    const inner = readOr(reader, depth + 1);
    if (!reader.take(')')) throw reader.fault();
    return inner;
  }
  reader.countTerm();
  const [attribute, sub] = splitName(reader.word());
  if (attribute === null) throw reader.fault('must not name an attribute of a schema extension');
  if (sub === null && reader.take('[')) {
    const where = readOr(reader, depth + 1);
    if (!reader.take(']')) throw reader.fault();
    if (reader.peek()?.startsWith('.') !== true) return { kind: 'some', attribute, where };
    const compared = readComparison(reader, reader.word().slice(1).toLowerCase());
    return { kind: 'some', attribute, where: { kind: 'and', of: [where, compared] } };
  }
  return readComparison(reader, sub === null ? attribute : `${attribute}.${sub}`);
}

function readComparison(reader: TokenReader, attribute: string): Filter {
  const operator = reader.word().toLowerCase();
  if (operator === 'pr') return { kind: 'present', attribute };
  if (!OPERATORS.includes(operator)) throw reader.fault();
  return { kind: 'compare', attribute, operator: operator as Operator, value: reader.value() };
}

/** Whether the members of one value of a multi-valued attribute match. Names are in lower case; texts are compared without case. */
export function matchesValue(filter: Filter, members: ReadonlyMap<string, unknown>): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.of.every((one) => matchesValue(one, members));
    case 'or':
      return filter.of.some((one) => matchesValue(one, members));
    case 'not':
      return !matchesValue(filter.of, members);
    case 'present':
      return members.get(filter.attribute) != null;
    case 'some':
      throw scimFault('invalidPath', 'path: must not nest filters of values');
    case 'compare':
      return compares(filter.operator, plain(members.get(filter.attribute)), plain(filter.value));
  }
}

function plain(value: unknown): string {
  return value == null ? '' : String(value).toLowerCase();
}

function compares(operator: Operator, one: string, other: string): boolean {
  switch (operator) {
    case 'eq':
      return one === other;
    case 'ne':
      return one !== other;
    case 'co':
      return one.includes(other);
    case 'sw':
      return one.startsWith(other);
    case 'ew':
      return one.endsWith(other);
    default:
      throw scimFault('invalidPath', 'path: order comparisons are not supported');
  }
}
