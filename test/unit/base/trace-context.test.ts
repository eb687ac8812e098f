// Which trace headers are valid, and what is forwarded.

import { expect, test } from 'bun:test';
import { readTraceContext } from '../../../src/base/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const VALID = `00-${TRACE}-${PARENT}-01`;

test('a valid traceparent is forwarded unchanged, with its tracestate', () => {
  expect(readTraceContext(VALID, 'congo=t61rcWkgMzE, rojo=00f067aa0ba902b7')).toEqual({
    traceparent: VALID,
    tracestate: 'congo=t61rcWkgMzE, rojo=00f067aa0ba902b7',
  });
  expect(readTraceContext(`00-${TRACE}-${PARENT}-00`, null)?.tracestate).toBeNull();
});

test('a traceparent of a later version is forwarded as version 00, without its unknown fields', () => {
  expect(readTraceContext(`cc-${TRACE}-${PARENT}-01`, null)?.traceparent).toBe(VALID);
  expect(readTraceContext(`cc-${TRACE}-${PARENT}-01-what-comes-later`, null)?.traceparent).toBe(VALID);
});

test.each([
  ['nothing', null],
  ['empty text', ''],
  ['upper case', VALID.toUpperCase()],
  ['an invalid version', `ff-${TRACE}-${PARENT}-01`],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
  ['a parent id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['one field too many', `${VALID}-00`],
  ['a later version with more text but no dash', `cc-${TRACE}-${PARENT}-01.what`],
  ['one field too few', `00-${TRACE}-${PARENT.slice(1)}-01`],
  ['two headers in one', `${VALID}, ${VALID}`],
  ['surrounded by spaces', ` ${VALID}`],
])('%s is not a valid traceparent, whatever the tracestate', (_what, traceparent) => {
  expect(readTraceContext(traceparent, 'congo=t61')).toBeNull();
});

test.each([
  ['too long', `congo=${'x'.repeat(507)}`],
  ['too many members', Array.from({ length: 33 }, (_, place) => `k${place}=1`).join(',')],
  ['a member without a value', 'congo'],
  ['an invalid key', 'Congo=1'],
  ['an invalid character', 'congo=é'],
  ['empty', ''],
])('an invalid tracestate is dropped, and the traceparent is forwarded: %s', (_what, tracestate) => {
  expect(readTraceContext(VALID, tracestate)).toEqual({ traceparent: VALID, tracestate: null });
});
