import * as z from 'zod';

const Part = z.union([z.string(), z.record(z.string(), z.unknown())]);
const JoinedBody = z.object({ 'Fn::Join': z.tuple([z.literal(''), z.array(Part)]) });

const Widget = z.object({
  type: z.string(),
  x: z.int(),
  y: z.int(),
  width: z.int(),
  height: z.int(),
  properties: z.object({
    title: z.string().default(''),
    query: z.string().optional(),
    alarms: z.array(z.string()).optional(),
    metrics: z.array(z.array(z.unknown())).default([]),
  }),
});
export type DashboardWidget = z.infer<typeof Widget>;

/** The widgets of a synthesized dashboard; names that only a deployment knows are left as dots. */
export const widgetsOf = (dashboardBody: unknown): DashboardWidget[] => {
  const [, parts] = JoinedBody.parse(dashboardBody)['Fn::Join'];
  const text = parts.map((part) => (typeof part === 'string' ? part : '…')).join('');
  return z.object({ widgets: z.array(Widget) }).parse(JSON.parse(text)).widgets;
};

const Options = z.object({ label: z.string().optional(), visible: z.boolean().optional() });

/** What a graph's legend says. */
const labelsOf = ({ properties: { metrics, query, alarms } }: DashboardWidget): string[] => {
  if (query) return [query.split('\n| ').find((line) => line.startsWith('stats')) ?? 'log lines'];
  if (alarms) return [`${alarms.length} alarms`];
  return metrics.flatMap((metric) => {
    const options = Options.safeParse(metric.at(-1)).data ?? {};
    if (options.visible === false) return [];
    return [options.label ?? String(metric[1])];
  });
};

/** Pixels of one column and one row of the 24-column grid. */
const COLUMN = 40;
const ROW = 20;
const LINE = 14;
/** Average width of a letter at the sizes used. */
const LETTER = 6;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const shorten = (text: string, pixels: number): string => {
  const most = Math.floor(pixels / LETTER);
  return escaped(text.length <= most ? text : `${text.slice(0, most - 1)}…`);
};

const box = (widget: DashboardWidget): string => {
  const [x, y] = [widget.x * COLUMN, widget.y * ROW];
  const [width, height] = [widget.width * COLUMN, widget.height * ROW];
  const room = Math.floor((height - 34) / LINE);
  const labels = labelsOf(widget);
  const shown =
    labels.length > room ? [...labels.slice(0, room - 1), `… ${labels.length} in all`] : labels;
  const lines = shown.map(
    (label, at) =>
      `<text x="${x + 12}" y="${y + 40 + at * LINE}" class="l">${shorten(label, width - 24)}</text>`,
  );
  return [
    `<rect x="${x + 3}" y="${y + 3}" width="${width - 6}" height="${height - 6}" rx="4"/>`,
    `<text x="${x + 12}" y="${y + 22}" class="t">${shorten(widget.properties.title, width - 24)}</text>`,
    ...lines,
  ].join('\n');
};

const STYLE =
  'rect{fill:#fff;stroke:#aab7b8}text{font-family:sans-serif}.t{font-size:12px;font-weight:bold;fill:#16191f}.l{font-size:11px;fill:#545b64}';

/** The layout of a dashboard as an SVG picture: every widget with its title and its legend. */
export const drawDashboard = (widgets: DashboardWidget[]): string => {
  const width = 24 * COLUMN;
  const height = Math.max(...widgets.map((widget) => widget.y + widget.height)) * ROW;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Layout of the dashboard">`,
    `<style>${STYLE}</style>`,
    `<rect x="0" y="0" width="${width}" height="${height}" style="fill:#f2f3f3;stroke:none"/>`,
    ...widgets.map(box),
    '</svg>\n',
  ].join('\n');
};
