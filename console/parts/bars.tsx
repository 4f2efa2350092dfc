import { useState } from 'preact/hooks';
import { utcDay } from './format.ts';

export type Bar = { day: string; value: number };

type BarsProps = {
  bars: readonly Bar[];
  /** What the values are, for readers who do not see the drawing. */
  label: string;
  format: (value: number) => string;
};

const STEPS = [2, 3, 4, 5, 6, 8, 10];

/** The top of the axis: a step times a power of ten that is not below the value. Half a request does not exist. */
const ceilingOf = (value: number): number => {
  if (value <= 0) return 2;
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = power === 1 ? STEPS.filter((step) => step % 2 === 0) : STEPS;
  return (steps.find((step) => step * power >= value) ?? 10) * power;
};

const HEIGHT = 100;
const STEP = 10;
const WIDTH = 7;

/** Labels that fit below each other's neighbours on a phone. */
const MOST_LABELS = 16;

/** The number of each day, or of each second one and so on, up to today's; the month where it begins. */
const Days = ({ days }: { days: readonly string[] }) => {
  const step = Math.ceil(days.length / MOST_LABELS);
  let month = '';
  return (
    <ol class="days quiet" aria-hidden="true">
      {days.map((day, index) => {
        const isShown = (days.length - 1 - index) % step === 0;
        const [name = '', number = ''] = isShown ? utcDay(day).split(' ') : [];
        const isNew = isShown && name !== month;
        if (isShown) month = name;
        return (
          <li key={day}>
            {number}
            {isNew && <small>{name}</small>}
          </li>
        );
      })}
    </ol>
  );
};

/** Values by day, from zero; the line above names the day under the pointer. The table below has the numbers. */
export const Bars = ({ bars, label, format }: BarsProps) => {
  const [pointed, setPointed] = useState<number>();
  const highest = Math.max(0, ...bars.map(({ value }) => value));
  const ceiling = ceilingOf(highest);
  const shown = pointed === undefined ? undefined : bars[pointed];
  const last = bars.length - 1;
  return (
    <figure class="panel is-padded chart">
      <figcaption>
        <span>{label}</span>
        <span class="number">
          {shown ? `${utcDay(shown.day)}: ${format(shown.value)}` : `Highest ${format(highest)}`}
        </span>
      </figcaption>
      <div class="plot">
        <span class="axis quiet number" aria-hidden="true">
          <span>{format(ceiling)}</span>
          <span>{format(ceiling / 2)}</span>
          <span>0</span>
        </span>
        <svg
          viewBox={`0 0 ${bars.length * STEP} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${label} by day; the highest is ${format(highest)}`}
          onPointerMove={(event) => {
            const { left, width } = event.currentTarget.getBoundingClientRect();
            const index = Math.floor(((event.clientX - left) / width) * bars.length);
            setPointed(Math.min(last, Math.max(0, index)));
          }}
          onPointerLeave={() => setPointed(undefined)}
        >
          <path class="grid" d={`M0 0.5H${bars.length * STEP}M0 50H${bars.length * STEP}`} />
          {bars.map(({ day, value }, index) => {
            const height = value === 0 ? 0 : Math.max(1, (HEIGHT * value) / ceiling);
            return (
              <rect
                key={day}
                class={index === pointed ? 'is-pointed' : ''}
                x={index * STEP + (STEP - WIDTH) / 2}
                y={HEIGHT - height}
                width={WIDTH}
                height={height}
              />
            );
          })}
        </svg>
      </div>
      <Days days={bars.map(({ day }) => day)} />
    </figure>
  );
};
