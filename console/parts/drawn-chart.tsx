// Draws a TimeChart. Only this file imports the chart library.

import { AreaChart, BarChart, LineChart } from '@mantine/charts';
import { type KeyboardEvent, type ReactNode, type RefObject, useRef, useState } from 'react';
import { ReferenceArea, useActiveTooltipLabel } from 'recharts';
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
  isSmall = false,
  isOfCounts = false,
  onPick,
}: TimeChartProps) {
  const pick = usePick(onPick);
  const labelOf = (place: unknown) => points[Number(place)]?.at ?? '';
  const most = mostOf(points, series);
  const format = formatOf && ((value: number) => formatOf(value, most));
  const labelLength = format?.(most).length ?? 0;
  const shared = {
    h: heightPx,
    data: points.map((point, place) => ({ ...point, place })), // labels may be repeated, places are not
    dataKey: 'place',
    series: series.map(({ name, label, color }) => ({ name, label, color })),
    withLegend: !isBare && !isSmall && series.length > 1,
    withXAxis: !isBare,
    withYAxis: !isBare && !isSmall,
    withTooltip: !isBare,
    gridAxis: isBare ? ('none' as const) : ('x' as const),
    tickLine: 'none' as const,
    xAxisProps: { minTickGap: 40, tickFormatter: labelOf },
    tooltipProps: { labelFormatter: labelOf },
    yAxisProps: {
      allowDecimals: !isOfCounts,
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
  const drawing = { accessibilityLayer: !isBare, ...pick.mouse };
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
  const move = (start: number | null, at: Hovered) => {
    const place = placeOf(at);
    if (place !== null) setSpan([start ?? place, place]);
  };
  /** A tap begins before the chart knows its place. */
  const end = (at: Hovered) => {
    setSpan(null);
    const place = placeOf(at);
    if (span !== null) onPick(first, last);
    else if (place !== null) onPick(place, place);
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

interface Hovered {
  activeTooltipIndex?: unknown;
}

function placeOf({ activeTooltipIndex }: Hovered): number | null {
  const place = activeTooltipIndex == null ? Number.NaN : Number(activeTooltipIndex);
  return Number.isInteger(place) ? place : null;
}

/** Keeps the place that the arrow keys or the mouse have reached. */
function ActivePlace({ place }: { place: RefObject<number | null> }) {
  const label = useActiveTooltipLabel();
  place.current = label === undefined ? null : Number(label);
  return null;
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
