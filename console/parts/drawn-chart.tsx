// The drawing of a TimeChart. Only this file knows the drawing library.

import { AreaChart, BarChart, LineChart } from '@mantine/charts';
import type { TimeChartProps } from './time-chart.tsx';

export function DrawnChart({
  points,
  series,
  kind,
  isStacked,
  heightPx = 220,
  format,
  isBare = false,
}: TimeChartProps) {
  const shared = {
    h: heightPx,
    data: [...points],
    dataKey: 'at',
    series: series.map(({ name, label, color }) => ({ name, label, color })),
    withLegend: !isBare && series.length > 1,
    withXAxis: !isBare,
    withYAxis: !isBare,
    withTooltip: !isBare,
    gridAxis: isBare ? ('none' as const) : ('x' as const),
    tickLine: 'none' as const,
    xAxisProps: { minTickGap: 40 },
    yAxisProps: { width: 64 },
    ...(format !== undefined && { valueFormatter: format }),
    // Nobody is kept waiting for a picture that grows.
    tooltipAnimationDuration: 0,
  };
  if (kind === 'bar') return <BarChart {...shared} {...(isStacked === true && { type: 'stacked' as const })} />;
  if (kind === 'line') return <LineChart {...shared} withDots={false} curveType="linear" connectNulls={false} />;
  return (
    <AreaChart
      {...shared}
      withDots={false}
      curveType="linear"
      fillOpacity={0.25}
      {...(isStacked === true && { type: 'stacked' as const })}
    />
  );
}
