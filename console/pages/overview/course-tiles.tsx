// The figures of a period, each with its course and what it was before.

import { Box, SimpleGrid } from '@mantine/core';
import type { UsageBucketShape } from '../../../src/admin-api/shapes.ts';
import { forPicture } from '../../decimals.ts';
import { formatMs, formatShare, formatShort } from '../../figures.ts';
import { isOfInstallation, useMe } from '../../me.tsx';
import { formatMoney, Money } from '../../parts/money.tsx';
import { StatTile } from '../../parts/stat-tile.tsx';
import { TimeChart } from '../../parts/time-chart.tsx';
import { words } from '../../words.ts';
import { type Course, type Sums, tokensOf } from './course.ts';

const { overview: its } = words;

export function CourseTiles({ course }: { course: Course }) {
  const isInstallation = isOfInstallation(useMe());
  const { sums, changes } = course;
  const cached = formatShort(sums.cacheRead + sums.cacheWritten);
  const split = its.tokensNote(formatShort(sums.input), formatShort(sums.output), cached);
  return (
    <SimpleGrid cols={{ base: 2, lg: 3 }} spacing="md">
      <StatTile
        label={its.requests}
        value={formatShort(sums.messages)}
        note={<Change change={changes.messages} />}
        picture={<Picture course={course} label={its.requests} figure={({ messages }) => messages} />}
      />
      <StatTile
        label={its.tokens}
        value={formatShort(tokensOf(sums))}
        note={<Change change={changes.tokens} text={split} />}
        picture={<Picture course={course} label={its.tokens} figure={bucketTokens} />}
      />
      <StatTile
        label={isInstallation ? its.charged : its.cost}
        value={<Money usd={sums.cost} />}
        note={<Change change={changes.cost} />}
        picture={<Picture course={course} label={its.cost} figure={({ cost }) => forPicture(cost)} />}
      />
      {isInstallation ? <MarginTile course={course} /> : <CacheTile sums={sums} />}
      <StatTile
        label={its.failed}
        value={sums.failedShare === null ? its.none : formatShare(sums.failedShare)}
        note={its.failedNote}
        picture={<Picture course={course} label={its.failed} color="red.6" figure={({ failed }) => failed} />}
      />
      <StatTile
        label={its.firstToken}
        value={
          <span title={its.firstTokenTitle}>
            {sums.firstTokenMsP50 === null ? its.none : formatMs(sums.firstTokenMsP50)}
          </span>
        }
        {...(sums.firstTokenMsP95 !== null && { note: its.firstTokenNote(formatMs(sums.firstTokenMsP95)) })}
        picture={<Picture course={course} label={its.firstToken} figure={({ first_token_ms_p50: half }) => half} />}
      />
    </SimpleGrid>
  );
}

function MarginTile({ course }: { course: Course }) {
  const { margin, withoutMargin } = course.sums;
  const note = withoutMargin === '0' ? undefined : its.marginNote(formatMoney(withoutMargin));
  return (
    <StatTile
      label={its.margin}
      value={<Money usd={margin} {...(margin?.startsWith('-') === true && { c: 'red' })} />}
      note={margin === null ? its.marginUnknown : note}
      picture={<Picture course={course} label={its.margin} figure={(bucket) => forPicture(bucket.margin)} />}
    />
  );
}

/** For who builds: what is read from the cache costs less. */
function CacheTile({ sums: { input, cacheRead, cacheWritten } }: { sums: Sums }) {
  const whole = input + cacheRead + cacheWritten;
  return (
    <StatTile
      label={its.fromCache}
      value={whole === 0 ? its.none : formatShare(cacheRead / whole)}
      note={its.fromCacheNote(formatShort(cacheRead))}
    />
  );
}

function bucketTokens(bucket: UsageBucketShape): number {
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = bucket;
  return input_tokens + output_tokens + cache_read_input_tokens + cache_creation_input_tokens;
}

/** Neither good nor bad by its colour: more cost is one, more requests the other. */
function Change({ change, text }: { change: number | null; text?: string }) {
  return (
    <>
      {text !== undefined && <div>{text}</div>}
      {change !== null && <div title={its.comparedTitle}>{changeWords(change)}</div>}
    </>
  );
}

function changeWords(change: number): string {
  if (Math.abs(change) < 0.005) return its.same;
  const share = formatShare(Math.abs(change));
  return change > 0 ? `▲ ${its.more(share)}` : `▼ ${its.less(share)}`;
}

interface PictureProps {
  course: Course;
  label: string;
  color?: string;
  figure: (bucket: UsageBucketShape) => number | null;
}

/** On a phone there is no room for it, and the pictures below say the same. */
function Picture({ course: { buckets }, label, color = 'road.6', figure }: PictureProps) {
  return (
    <Box w={104} visibleFrom="sm" aria-hidden="true">
      <TimeChart
        kind="area"
        isBare
        heightPx={36}
        summary={label}
        series={[{ name: 'figure', label, color }]}
        points={buckets.map((bucket) => ({ at: bucket.at, figure: figure(bucket) }))}
      />
    </Box>
  );
}
