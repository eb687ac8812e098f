// Which headers name a trace, and what of them is sent on.

import { expect, test } from 'bun:test';
import { readTraceContext } from '../../src/base/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const VALID = `00-${TRACE}-${PARENT}-01`;

test('a valid traceparent is kept as it came, with its tracestate', () => {
  expect(readTraceContext(VALID, 'congo=t61rcWkgMzE, rojo=00f067aa0ba902b7')).toEqual({
    traceparent: VALID,
    tracestate: 'congo=t61rcWkgMzE, rojo=00f067aa0ba902b7',
  });
  expect(readTraceContext(`00-${TRACE}-${PARENT}-00`, null)?.tracestate).toBeNull();
});

test('of a later version the known part goes on, as the version that is known', () => {
  expect(readTraceContext(`cc-${TRACE}-${PARENT}-01`, null)?.traceparent).toBe(VALID);
  expect(readTraceContext(`cc-${TRACE}-${PARENT}-01-what-comes-later`, null)?.traceparent).toBe(VALID);
});

test.each([
  ['nothing', null],
  ['empty text', ''],
  ['upper case', VALID.toUpperCase()],
  ['a version that may not be', `ff-${TRACE}-${PARENT}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
  ['a parent of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['a field too many', `${VALID}-00`],
  ['a later version that runs on without a dash', `cc-${TRACE}-${PARENT}-01.what`],
  ['a field too short', `00-${TRACE}-${PARENT.slice(1)}-01`],
  ['two headers in one', `${VALID}, ${VALID}`],
  ['space around it', ` ${VALID}`],
])('%s names no trace, whatever the tracestate says', (_what, traceparent) => {
  expect(readTraceContext(traceparent, 'congo=t61')).toBeNull();
});

test.each([
  ['too long', `congo=${'x'.repeat(507)}`],
  ['too many members', Array.from({ length: 33 }, (_, place) => `k${place}=1`).join(',')],
  ['a member without a value', 'congo'],
  ['a key that may not be', 'Congo=1'],
  ['a character that may not be', 'congo=é'],
  ['empty', ''],
])('a tracestate that is %s is dropped, and the trace goes on', (_what, tracestate) => {
  expect(readTraceContext(VALID, tracestate)).toEqual({ traceparent: VALID, tracestate: null });
});
