// No number from outside reaches a counter, a meter or a price unchecked: text and rows become numbers in one file of
// src/, and a number of JSON is asked whether it is whole wherever it could be counted.

import { expect, test } from 'bun:test';
import {
  isIdentifier,
  isNumericLiteral,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isTypeOfExpression,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { faultsOf, readSources, type Source, textOf, walk } from './sources.ts';

/** Files that take any JSON number, none of which is counted, held or priced. */
const looseNumbers: Record<string, string> = {
  'src/fronts/request-fields.ts': 'ranges of sampling for the provider',
  'src/fronts/speech/speech.ts': 'the range of a speed',
  'src/gateway/message-record.ts': 'asks only whether a count was reported',
  'src/providers/anthropic/adapt-request.ts': 'sampling for the provider',
  'src/providers/anthropic/convert-request.ts': 'sampling for the provider',
  'src/providers/bedrock/convert-request.ts': 'sampling for the provider',
  'src/providers/gemini/clean-schema.ts': 'bounds in the schema of a tool',
  'src/providers/gemini/convert-request.ts': 'sampling and a budget of thinking for the provider',
  'src/providers/openai-responses/convert-request.ts': 'sampling for the provider',
  'src/providers/openai/convert-request.ts': 'sampling for the provider',
  'src/providers/openai/convert-chunk.ts': 'names the numbers that nobody knows',
  'src/providers/openai/gather-calls.ts': 'an index that names a call',
  'src/protocols/effort.ts':
    'a budget of thinking is passed on, and read by usage/read-thinking.ts, or compared, and becomes a word',
  'src/providers/read-vectors.ts': 'parts of vectors are relayed',
  'src/providers/rerank.ts': 'scores of documents are relayed',
  'src/providers/sandbox/fill-schema.ts': 'bounds in a schema',
  'src/providers/sandbox/media.ts': 'a speed whose range was checked',
  'src/usage/account-samples.ts': 'checks that each is within its own range',
  'src/usage/read-usage.ts': 'names the numbers that nobody knows',
  'src/wire/exact-json.ts': 'writes numbers as they were read',
  'src/wire/parse-message-request.ts': 'sampling for the provider, and the words of a refusal',
};

const sources = await readSources();

test('only src/base/checked-number.ts parses external numbers from text', () => {
  const among = sources.filter(({ path }) => path.startsWith('src/') && path !== 'src/base/checked-number.ts');
  expect(faultsOf(among, (node, source) => (isConversion(node) ? lineText(node, source) : null))).toEqual([]);
});

test('a number of a body or a provider is a whole number, or stands here with its reason', () => {
  const among = sources.filter(({ path }) =>
    /^src\/(?:fronts|gateway|ledger|protocols|providers|usage|wire)\//.test(path),
  );
  const isUse = (node: Node) => isTypeOfExpression(node) && /^\s*[!=]==\s*'number'/.test(textAfter(node));
  const found = among.filter(({ tree }) => {
    let isFound = false;
    walk(tree, (node) => {
      isFound ||= isUse(node);
    });
    return isFound;
  });
  expect(found.map(({ path }) => path)).toEqual(Object.keys(looseNumbers).sort());
});

/** Properties of Number that convert nothing. */
const harmless = /^Number\.(?:is\w+|M(?:AX|IN)_(?:SAFE_INTEGER|VALUE)|NaN|(?:POSITIVE|NEGATIVE)_INFINITY|EPSILON)$/;

/** `Number(text)`, `map(Number)`, `parseInt(text)`, `Date.parse(text)`, `+text` and their like. */
function isConversion(node: Node): boolean {
  if (isPrefixUnaryExpression(node)) return node.operator === SyntaxKind.PlusToken && !isNumericLiteral(node.operand);
  if (isPropertyAccessExpression(node)) return node.getText() === 'Date.parse';
  if (!isIdentifier(node)) return false;
  if (node.text === 'Number') return !harmless.test(node.parent.getText());
  return ['parseInt', 'parseFloat'].includes(node.text);
}

function lineText(node: Node, source: Source): string {
  return textOf(node.parent, source).slice(0, 60);
}

/** The text that follows a node in its parent. */
function textAfter(node: Node): string {
  return node.parent.getText().slice(node.getEnd() - node.parent.getStart());
}
