// A chart over time. The chart library loads with the first chart; screen readers get the summary.

import { Box, Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';

export interface Series {
  /** The member of a point that contains the value. */
  name: string;
  label: string;
  /** A color of the theme: "road.7", "orange.6". */
  color: string;
}

export interface TimeChartProps {
  /** `at` is the label on the x axis; the other members are values by series. */
  points: readonly (Record<string, number | string | null> & { at: string })[];
  series: readonly Series[];
  kind: 'area' | 'bar' | 'line';
  isStacked?: boolean;
  heightPx?: number;
  /** `most` is the largest magnitude in the chart. */
  format?: (value: number, most: number) => string;
  /** Shows the value of a point, if it differs from the labels of the axis. */
  formatValue?: (value: number) => string;
  /** Keeps a value until the next point, instead of a line between both. */
  hasSteps?: boolean;
  /** Describes the chart for screen readers. */
  summary: string;
  /** Omits axes and legend. */
  isBare?: boolean;
  /** Omits the axis of values and the legend. */
  isSmall?: boolean;
  /** The values are counts: the axis has no fractions. */
  isOfCounts?: boolean;
  /** Called with the places of the first and the last point: of a click, or Enter, they are the same; others are of a drag. */
  onPick?: ((first: number, last: number) => void) | undefined;
}

const DrawnChart = lazy(async () => ({ default: (await import('./drawn-chart.tsx')).DrawnChart }));

export function TimeChart(props: TimeChartProps) {
  const height = props.heightPx ?? 220;
  return (
    <Box h={height} role="img" aria-label={props.summary}>
      <Suspense fallback={<Skeleton h={height} />}>
        <DrawnChart {...props} />
      </Suspense>
    </Box>
  );
}
