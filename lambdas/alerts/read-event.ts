import { gunzipSync } from 'node:zlib';
import type { LogFields } from '../log-events.ts';
import { type Alert, alertOfLine } from './alert.ts';

/** What CloudWatch publishes of an alarm, and what is read of it. */
type Alarm = {
  AlarmName: string;
  AlarmArn: string;
  /** What failed, and the lines `Runbook: …`, `Dashboard: …` and `Logs: …`. */
  AlarmDescription?: string | null;
  NewStateValue: string;
  /** `2026-11-28T01:40:31.123+0000` */
  StateChangeTime: string;
};

/** Lines of a log group, in the form of its subscriptions. */
type Lines = {
  messageType: string;
  logEvents: { id: string; timestamp: number; message: string }[];
};

/** Events of a topic, of a log group, or of the queue of alerts. */
export type AlertEvent = {
  Records?: { Sns?: { Message: string }; body?: string }[];
  /** Base64 of gzip of `Lines`. */
  awslogs?: { data: string };
};

const STATES: Record<string, Alert['state']> = { ALARM: 'firing', OK: 'resolved' };

const alertsOfAlarm = (message: string): Alert[] => {
  const alarm = JSON.parse(message) as Alarm;
  const { AlarmName: name, AlarmArn: arn, StateChangeTime: changed } = alarm;
  const state = STATES[alarm.NewStateValue];
  if (state === undefined) return [];
  const [title = name, ...lines] = (alarm.AlarmDescription ?? name).split('\n');
  const runbook = lines.find((line) => line.startsWith('Runbook: '))?.slice('Runbook: '.length);
  return [
    {
      ...{ id: `${arn}/${changed}`, subject: `alarm/${name}`, state, at: Date.parse(changed) },
      ...{ title, text: `Alarm ${name}.`, ...(runbook !== undefined && { runbook }) },
    },
  ];
};

/** A refused credential is an alarm, which ends when the credential is accepted again. */
const isAlarmed = (line: LogFields): boolean => line.fault === 'credential';

const alertsOfLines = (data: string, runbookUrl: string): Alert[] => {
  const text = gunzipSync(Buffer.from(data, 'base64')).toString();
  const { messageType, logEvents } = JSON.parse(text) as Lines;
  if (messageType !== 'DATA_MESSAGE') return [];
  return logEvents.flatMap(({ id, timestamp: at, message }) => {
    const line = JSON.parse(message) as LogFields;
    return isAlarmed(line) ? [] : (alertOfLine(line, { at, id, runbookUrl }) ?? []);
  });
};

/** What an event says to people. */
export const alertsIn = ({ Records = [], awslogs }: AlertEvent, runbookUrl: string): Alert[] =>
  awslogs === undefined
    ? Records.flatMap(({ Sns }) => (Sns ? alertsOfAlarm(Sns.Message) : []))
    : alertsOfLines(awslogs.data, runbookUrl);
