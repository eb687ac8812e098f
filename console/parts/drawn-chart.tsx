// Draws a TimeChart. Only this file imports the chart library.

import { AreaChart, BarChart, LineChart } from '@mantine/charts';
import type { TimeChartProps } from './time-chart.tsx';

export function DrawnChart({
  points,
  series,
  kind,
  isStacked,
  heightPx = 220,
  format,
  formatValue = format,
  hasSteps = false,
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
    yAxisProps: { width: 64, ...(format !== undefined && { tickFormatter: format }) },
    ...(formatValue !== undefined && { valueFormatter: formatValue }),
    // No animation.
    tooltipAnimationDuration: 0,
  };
  // A chart without tooltips is not focusable.
  const drawing = { accessibilityLayer: !isBare };
  if (kind === 'bar')
    return <BarChart {...shared} barChartProps={drawing} {...(isStacked === true && { type: 'stacked' as const })} />;
  if (kind === 'line')
    return (
      <LineChart
        {...shared}
        lineChartProps={drawing}
        withDots={hasLonePoint(points, series)}
        curveType="linear"
        connectNulls={false}
      />
    );
  return (
    <AreaChart
      {...shared}
      areaChartProps={drawing}
      withDots={points.length === 1}
      curveType={hasSteps ? 'stepAfter' : 'linear'}
      fillOpacity={0.25}
      {...(isStacked === true && { type: 'stacked' as const })}
    />
  );
}

/** Whether a value has no neighbors: without a line to it, only a dot makes it visible. */
function hasLonePoint(points: TimeChartProps['points'], series: TimeChartProps['series']): boolean {
  const isThere = (at: number, name: string) => typeof points[at]?.[name] === 'number';
  return points.some((_, at) =>
    series.some(({ name }) => isThere(at, name) && !isThere(at - 1, name) && !isThere(at + 1, name)),
  );
}
