// Figures over time as a picture. The library that draws is fetched when the first picture is shown; readers of
// the screen get its summary.

import { Box, Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';

export interface Series {
  /** The member of a point that has its figure. */
  name: string;
  label: string;
  /** Of the theme: "road.7", "orange.6". */
  color: string;
}

export interface TimeChartProps {
  /** `at` is the label of the axis below; the rest are figures by series. */
  points: readonly (Record<string, number | string | null> & { at: string })[];
  series: readonly Series[];
  kind: 'area' | 'bar' | 'line';
  isStacked?: boolean;
  heightPx?: number;
  format?: (value: number) => string;
  /** In words, what the picture shows. */
  summary: string;
  /** Without axes and legend, for small ones. */
  isBare?: boolean;
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
