// Draws a TimeChart. Only this file imports the chart library.

import { AreaChart, BarChart, LineChart } from '@mantine/charts';
import { type KeyboardEvent, type ReactNode, type RefObject, useRef, useState } from 'react';
import { ReferenceArea, useActiveTooltipLabel } from 'recharts';
import { axisOf } from '../figures.ts';
import type { TimeChartProps } from './time-chart.tsx';

/** The width of a digit of the axes, and the distance of the labels from the axis. */
const DIGIT_PX = 7.5;
const LABEL_GAP_PX = 18;
const AXIS_PX_MIN = 64;
/** Above the plot, for the half of the highest label that reaches beyond it. */
const LABEL_PX = 10;

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
  isOfCounts = false,
  onPick,
}: TimeChartProps) {
  const pick = usePick(onPick);
  const labelOf = (place: unknown) => points[Number(place)]?.at ?? '';
  const [least, most] = extremesOf(points, series, isStacked === true);
  const { ticks, domain } = axisOf(least, most, isOfCounts);
  const format = formatOf && ((value: number) => formatOf(value, Math.max(most, -least)));
  const labelLength = Math.max(0, ...ticks.map((tick) => format?.(tick).length ?? 0));
  const shared = {
    h: heightPx,
    data: points.map((point, place) => ({ ...point, place })), // labels may be repeated, places are not
    dataKey: 'place',
    series: series.map(({ name, label, color }) => ({ name, label, color })),
    withLegend: !isBare && series.length > 1,
    withXAxis: !isBare,
    withYAxis: !isBare,
    withTooltip: !isBare,
    gridAxis: isBare ? ('none' as const) : ('x' as const),
    tickLine: 'none' as const,
    xAxisProps: { minTickGap: 40, tickFormatter: labelOf },
    tooltipProps: { labelFormatter: labelOf },
    yAxisProps: {
      ...(!isBare && { ticks, domain: [...domain], interval: 0 as const }),
      width: Math.max(AXIS_PX_MIN, labelLength * DIGIT_PX + LABEL_GAP_PX),
      ...(format !== undefined && { tickFormatter: format }),
    },
    ...(format !== undefined && { valueFormatter: formatValue ?? format }),
    // No animation.
    tooltipAnimationDuration: 0,
    children: pick.marks,
    ...pick.keys,
  };
  // A chart without tooltips is not focusable.
  const drawing = { accessibilityLayer: !isBare, ...(!isBare && { margin: { top: LABEL_PX } }), ...pick.mouse };
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

interface Pick {
  mouse: object;
  keys: object;
  /** What it adds to the chart. */
  marks: ReactNode;
}

/** Picks a point by a click, or by Enter after the arrow keys, and several by dragging over them. */
function usePick(onPick: TimeChartProps['onPick']): Pick {
  const [span, setSpan] = useState<readonly [number, number] | null>(null);
  const active = useRef<number | null>(null);
  if (onPick === undefined) return { mouse: {}, keys: {}, marks: null };
  const [first, last] = span === null ? [0, 0] : [Math.min(...span), Math.max(...span)];
  const move = (start: number | null, { activeTooltipIndex }: { activeTooltipIndex?: unknown }) => {
    const place = activeTooltipIndex == null ? Number.NaN : Number(activeTooltipIndex);
    if (Number.isInteger(place)) setSpan([start ?? place, place]);
  };
  const end = () => {
    setSpan(null);
    if (span !== null) onPick(first, last);
  };
  return {
    mouse: {
      onMouseDown: (at: object) => move(null, at),
      onMouseMove: (at: object) => span !== null && move(span[0], at),
      onMouseUp: end,
      onMouseLeave: () => setSpan(null),
      style: { cursor: 'pointer', userSelect: 'none' },
    },
    keys: {
      onKeyDown: ({ key }: KeyboardEvent) =>
        key === 'Enter' && active.current !== null && onPick(active.current, active.current),
    },
    marks: (
      <>
        <ActivePlace place={active} />
        {first !== last && <ReferenceArea x1={first} x2={last} fillOpacity={0.2} />}
      </>
    ),
  };
}

/** Keeps the place that the arrow keys or the mouse have reached. */
function ActivePlace({ place }: { place: RefObject<number | null> }) {
  const label = useActiveTooltipLabel();
  place.current = label === undefined ? null : Number(label);
  return null;
}

/** The smallest and the largest value, or sum of a point if its values are stacked. The axis has zero in any case. */
function extremesOf(
  points: TimeChartProps['points'],
  series: TimeChartProps['series'],
  isStacked: boolean,
): [least: number, most: number] {
  const values = points.flatMap((point) => {
    const shown = series.map(({ name }) => point[name]).filter((value) => typeof value === 'number');
    return isStacked ? [shown.reduce((sum, value) => sum + value, 0)] : shown;
  });
  return values.reduce<[number, number]>(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [0, 0],
  );
}

/** Whether a value has no neighbors: without a line to it, only a dot makes it visible. */
function hasLonePoint(points: TimeChartProps['points'], series: TimeChartProps['series']): boolean {
  const isThere = (at: number, name: string) => typeof points[at]?.[name] === 'number';
  return points.some((_, at) =>
    series.some(({ name }) => isThere(at, name) && !isThere(at - 1, name) && !isThere(at + 1, name)),
  );
}
