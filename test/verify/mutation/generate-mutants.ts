// Mutants of a source file: small changes of its syntax (a comparison, an arithmetic sign, a dropped guard or statement), each of
// which some test must notice. A mutant is named by what it changes and in which function, so that its name outlives moved code.

import { parse } from '@babel/parser';
import { hashText } from '../../../src/base/hash-text.ts';

export interface Mutant {
  /** Unique within the project: function, kind of change and a hash of the code that it changes. */
  name: string;
  /** From the project's root. */
  file: string;
  line: number;
  /** The code before and after, for people. */
  change: string;
  /** Offsets of what is replaced, and what by. */
  start: number;
  end: number;
  put: string;
}

interface SyntaxNode {
  type: string;
  start: number;
  end: number;
  loc: { start: { line: number } };
  [member: string]: unknown;
}

/** All changes, or only those that matter for money, protocol and safety: no change of texts, logs and measurements. */
export type Extent = 'all' | 'effects';

type Edit = [kind: string, node: { start: number; end: number }, put: string];

const COMPARISONS: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '<>': '=',
};
const ARITHMETIC: Readonly<Record<string, string>> = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*' };
const COUNTERPARTS: Readonly<Record<string, string>> = { min: 'max', max: 'min', floor: 'ceil', ceil: 'floor' };
/** Types, and what is said to people: no change of these changes what the code does. */
const IGNORED = /^(?:TS|Import|ExportAllDeclaration|ThrowStatement)/;
/** Patterns that recognize SQL, and the changes made in it. */
const SQL = /\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE)\b/;
const SQL_EDITS: readonly [kind: string, part: RegExp, put: (part: string) => string][] = [
  ['sql-lock', / FOR (?:NO KEY )?(?:UPDATE|SHARE)(?: SKIP LOCKED| NOWAIT)?/g, () => ''],
  ['sql-compare', /(?<= )(?:<>|<=|>=|<|>)(?= )/g, (part) => COMPARISONS[part] as string],
  ['sql-equal', /(?<= )=(?= \$\d| [a-z_]+\.[a-z_]+)/g, () => '<>'],
  ['sql-condition', /\b(?:AND|OR) [a-z_.]+ (?:=|<>|<|>|<=|>=|IS NULL|IS NOT NULL|IN)(?: [$\w.']+)?/g, () => ''],
  ['sql-add', /(?<=[a-z_]) [+-] (?=[a-z_$])/g, (part) => (part === ' + ' ? ' - ' : ' + ')],
];
/** Changes that take effect only where other code relies on members or elements. */
const MINOR = /^(?:no-member|empty)$/;
/** Calls and members whose content is read by people: logs, traces, metrics, messages. */
const WORDING_CALL = /(?:^|[.#])(?:log|addStep|trace|span|observe\w*)(?:$|[.?(])/;
const WORDING_MEMBER = /^(?:message|detail|description|hint|label)$/;
const SHOWN_CHARACTERS = 70;

/** All mutants of a file, in the order of its code. Throws where it cannot be parsed. */
export function generateMutants(file: string, text: string, extent: Extent): Mutant[] {
  const mutants: Mutant[] = [];
  const taken = new Map<string, number>();
  const tree = parse(text, { sourceType: 'module', plugins: ['typescript', 'explicitResourceManagement'] });
  const walk = (node: SyntaxNode, within: string): void => {
    const name = nameOf(node) ?? within;
    for (const [kind, { start, end }, put] of editsOf(node, text, extent)) {
      const before = text.slice(start, end);
      const context = text.slice(node.start, node.end).replace(/\s+/g, ' ');
      const base = `${name}:${kind}:${hashText(`${context} ${before} ${put}`).toString(36).slice(2, 8)}`;
      const times = (taken.get(base) ?? 0) + 1;
      taken.set(base, times);
      const change = `${shown(before)} => ${put === '' ? 'nothing' : shown(put)}`;
      mutants.push({
        name: times === 1 ? base : `${base}:${times}`,
        file,
        line: lineOf(text, start),
        change,
        start,
        end,
        put,
      });
    }
    for (const child of childrenOf(node))
      if (!isIgnored(child) && (extent === 'all' || !isWording(child, text))) walk(child, name);
  };
  walk(tree.program as unknown as SyntaxNode, '');
  return mutants;
}

function editsOf(node: SyntaxNode, text: string, extent: Extent): Edit[] {
  const edits = allEditsOf(node, text);
  if (extent === 'all') return edits;
  const isAwaited =
    node.type === 'ExpressionStatement' && (node['expression'] as SyntaxNode).type === 'AwaitExpression';
  const awaited: Edit[] = isAwaited
    ? [['no-await', node, text.slice(node.start, node.end).replace('await', 'void')]]
    : [];
  return node['operator'] === '??' ? [] : [...edits.filter(([kind]) => !MINOR.test(kind)), ...awaited];
}

function allEditsOf(node: SyntaxNode, text: string): Edit[] {
  const code = (part: unknown) => text.slice((part as SyntaxNode).start, (part as SyntaxNode).end);
  switch (node.type) {
    case 'BinaryExpression':
      return binaryEdits(node, text);
    case 'LogicalExpression': {
      const { left, right, operator } = node;
      const parts = operator === '??' ? [left] : [left, right];
      return parts.map((part, at) => [`only-${at === 0 ? 'left' : 'right'}`, node, `(${code(part)})`]);
    }
    case 'IfStatement':
      return isNode(node['alternate']) ? [['never', node['test'] as SyntaxNode, 'false']] : [['no-if', node, '{}']];
    case 'ConditionalExpression':
      return [
        ['always', node, `(${code(node['consequent'])})`],
        ['never', node, `(${code(node['alternate'])})`],
      ];
    case 'UnaryExpression':
      return node['operator'] === '!' || node['operator'] === '-' ? [['no-sign', node, code(node['argument'])]] : [];
    case 'BooleanLiteral':
      return [['flip', node, String(node['value'] !== true)]];
    case 'ExpressionStatement':
      return isEffect(node['expression'] as SyntaxNode) ? [['no-effect', node, ';']] : [];
    case 'ObjectExpression':
      return overrideEdits(node, text);
    case 'ArrayExpression':
      return (node['elements'] as unknown[]).length > 0 ? [['empty', node, '[]']] : [];
    case 'MemberExpression':
      return counterpartEdits(node);
    case 'TemplateLiteral':
      return sqlEdits(node, node['quasis'] as SyntaxNode[], text);
    case 'StringLiteral':
      return sqlEdits(node, [node], text);
    default:
      return [];
  }
}

function binaryEdits(node: SyntaxNode, text: string): Edit[] {
  const { left, right, operator } = node as unknown as { left: SyntaxNode; right: SyntaxNode; operator: string };
  const isText = [left, right].some(({ type }) => type === 'StringLiteral' || type === 'TemplateLiteral');
  const other = COMPARISONS[operator] ?? (isText ? undefined : ARITHMETIC[operator]);
  if (other === undefined) return [];
  const at = left.end + text.slice(left.end, right.start).lastIndexOf(operator);
  return [
    [COMPARISONS[operator] === undefined ? 'arithmetic' : 'compare', { start: at, end: at + operator.length }, other],
  ];
}

/** Members that take the place of those of an object that is spread. */
function overrideEdits(node: SyntaxNode, text: string): Edit[] {
  const members = node['properties'] as SyntaxNode[];
  const spreadAt = members.findIndex(({ type }) => type === 'SpreadElement');
  if (spreadAt < 0) return [];
  return members.flatMap((member, at): Edit[] => {
    if (at <= spreadAt || member.type === 'SpreadElement') return []; // what stands before it are defaults
    const end = member.end + (/^\s*,/.exec(text.slice(member.end))?.[0].length ?? 0);
    return [['no-member', { start: member.start, end }, '']];
  });
}

/** Math.min and its like. */
function counterpartEdits(node: SyntaxNode): Edit[] {
  const { object, property } = node as unknown as { object: SyntaxNode; property: SyntaxNode };
  const other = COUNTERPARTS[String(property['name'])];
  return object['name'] === 'Math' && other !== undefined ? [['counterpart', property, other]] : [];
}

/** Changes of the SQL in a text of which these are the literal parts. */
function sqlEdits(whole: SyntaxNode, parts: readonly SyntaxNode[], text: string): Edit[] {
  if (!SQL.test(text.slice(whole.start, whole.end))) return [];
  return parts.flatMap(({ start: offset, end: endOffset }) =>
    SQL_EDITS.flatMap(([kind, part, put]) =>
      [...text.slice(offset, endOffset).matchAll(part)].map((match): Edit => {
        const start = offset + match.index;
        return [kind, { start, end: start + match[0].length }, put(match[0])];
      }),
    ),
  );
}

function isEffect(expression: SyntaxNode): boolean {
  const { type, callee } = expression;
  if (type === 'CallExpression') return (callee as SyntaxNode).type !== 'Super' && !isIgnored(expression);
  return ['AssignmentExpression', 'UpdateExpression', 'AwaitExpression'].includes(type);
}

/** Texts for people, logs, traces and measurements. */
function isWording(node: SyntaxNode, text: string): boolean {
  const code = (part: unknown) => text.slice((part as SyntaxNode).start, (part as SyntaxNode).end);
  switch (node.type) {
    case 'ExpressionStatement':
      return isWording(node['expression'] as SyntaxNode, text);
    case 'AssignmentExpression':
      return WORDING_CALL.test(code(node['left']));
    case 'CallExpression':
    case 'OptionalCallExpression':
      return WORDING_CALL.test(code(node['callee']).replace(/\s+/g, ''));
    case 'NewExpression':
      return code(node['callee']).endsWith('Error');
    case 'ObjectProperty':
      return WORDING_MEMBER.test(code(node['key']));
    case 'TemplateLiteral':
      return !SQL.test(code(node)) && /\w \w/.test(code(node));
    case 'ConditionalExpression':
      return [node['consequent'], node['alternate']].some((part) => /^['"`].*\w \w.*['"`]$/s.test(code(part)));
    default:
      return false;
  }
}

/** Assertions guard against our own mistakes, which no test makes. */
function isIgnored({ type, callee }: SyntaxNode): boolean {
  return IGNORED.test(type) || (type === 'CallExpression' && (callee as SyntaxNode)['name'] === 'assert');
}

function nameOf({ type, id, key }: SyntaxNode): string | null {
  const named = type === 'FunctionDeclaration' || type === 'VariableDeclarator' ? id : null;
  const found = type === 'ClassMethod' || type === 'ClassPrivateMethod' || type === 'ClassProperty' ? key : named;
  if (!isNode(found)) return null;
  const inner = found.type === 'PrivateName' ? (found['id'] as SyntaxNode) : found;
  return typeof inner['name'] === 'string' ? inner['name'] : null;
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children = Object.entries(node).flatMap(([member, value]) => (member === 'loc' ? [] : value));
  return children.filter(isNode).sort((one, other) => one.start - other.start);
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

function shown(code: string): string {
  const line = code.replace(/\s+/g, ' ');
  return line.length <= SHOWN_CHARACTERS ? line : `${line.slice(0, SHOWN_CHARACTERS)}…`;
}
