// Draws a TimeChart. Only this file imports the chart library.

import { AreaChart, BarChart, LineChart } from '@mantine/charts';
import type { TimeChartProps } from './time-chart.tsx';

/** The width of a digit of the axes, and the distance of the labels from the axis. */
const DIGIT_PX = 7.5;
const LABEL_GAP_PX = 18;
const AXIS_PX_MIN = 64;

export function DrawnChart({
  points,
  series,
  kind,
  isStacked,
  heightPx = 220,
  format: formatOf,
  formatValue,
  hasSteps = false,
  isBare = false,
}: TimeChartProps) {
  const most = mostOf(points, series);
  const format = formatOf && ((value: number) => formatOf(value, most));
  const labelLength = format?.(most).length ?? 0;
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
    yAxisProps: {
      width: Math.max(AXIS_PX_MIN, labelLength * DIGIT_PX + LABEL_GAP_PX),
      ...(format !== undefined && { tickFormatter: format }),
    },
    ...(format !== undefined && { valueFormatter: formatValue ?? format }),
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

/** The largest magnitude of a value. */
function mostOf(points: TimeChartProps['points'], series: TimeChartProps['series']): number {
  const values = points.flatMap((point) => series.map(({ name }) => point[name]));
  return values.reduce<number>(
    (most, value) => (typeof value === 'number' ? Math.max(most, Math.abs(value)) : most),
    0,
  );
}

/** Whether a value has no neighbors: without a line to it, only a dot makes it visible. */
function hasLonePoint(points: TimeChartProps['points'], series: TimeChartProps['series']): boolean {
  const isThere = (at: number, name: string) => typeof points[at]?.[name] === 'number';
  return points.some((_, at) =>
    series.some(({ name }) => isThere(at, name) && !isThere(at - 1, name) && !isThere(at + 1, name)),
  );
}
