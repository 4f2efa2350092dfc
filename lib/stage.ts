import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Node } from 'constructs';
import * as z from 'zod';

const RETENTION_DAYS = Object.values(RetentionDays).filter((days) => typeof days === 'number');

/** What `cdk … -c name=value` may say; the CLI passes every value as text. */
const StageContext = z
  .object({
    stage: z.enum(['dev', 'prod']).default('dev'),
    /** Also the kill switch: 0 refuses every request. */
    reservedConcurrency: z.coerce.number().int().min(0).max(100_000).optional(),
    /** The account's own limit, for the alarm that says that it comes near. */
    accountConcurrency: z.coerce.number().int().min(1).default(1000),
    /** Days that log lines are kept, as CloudWatch offers them: 1, 3, 5, 7, 14, 30, 60, 90 … */
    logRetention: z.coerce
      .number()
      .refine((days) => RETENTION_DAYS.some((offered) => offered === days), {
        message: `must be one of ${RETENTION_DAYS.join(', ')}`,
      })
      .optional(),
    /** Who hears of alarms; has to confirm by e-mail. */
    alarmEmail: z.email().optional(),
    /** A name of your own for the REST API, and its certificate in the stack's region. */
    domainName: z.hostname().optional(),
    certificateArn: z.string().startsWith('arn:').optional(),
    /** Requests within five minutes from one address, above which the firewall refuses it. */
    firewallRate: z.coerce.number().int().min(10).max(2_000_000_000).optional(),
    /** A Lambda Web Function beside the other front doors. */
    webFunction: z.enum(['on', 'off']).default('off'),
  })
  .refine(
    ({ domainName, certificateArn }) =>
      (domainName === undefined) === (certificateArn === undefined),
    {
      path: ['domainName'],
      message: 'domainName and certificateArn go together',
    },
  )
  .refine(({ webFunction, firewallRate }) => webFunction === 'off' || firewallRate === undefined, {
    path: ['webFunction'],
    message: 'no firewall can stand in front of a Web Function',
  });
type StageContext = z.infer<typeof StageContext>;

/** How one deployment of the stack differs from another. */
export type Stage = {
  name: 'dev' | 'prod';
  /** Data outlives a mistake: kept after `cdk destroy`, protected from deletion, restorable. */
  protectData: boolean;
  logRetention: RetentionDays;
  /**
   * Requests under way at once, one per execution environment. Absent means the account's limit: a
   * new account has too few (10) to reserve any, so a default here would fail its first deployment.
   */
  reservedConcurrency?: number;
  accountConcurrency: number;
  /** Alarms tell a topic. Its encryption key is $1 a month, so dev has one only with an address. */
  tellsAlarms: boolean;
  alarmEmail?: string;
  domain?: { name: string; certificateArn: string };
  firewallRate?: number;
  hasWebFunction: boolean;
};

const STAGES = {
  dev: { protectData: false, tellsAlarms: false, logRetention: RetentionDays.ONE_WEEK },
  prod: { protectData: true, tellsAlarms: true, logRetention: RetentionDays.ONE_MONTH },
} satisfies Record<Stage['name'], Pick<Stage, 'protectData' | 'tellsAlarms' | 'logRetention'>>;

const optionsOf = (context: StageContext): Partial<Stage> => {
  const { reservedConcurrency, logRetention, alarmEmail, firewallRate } = context;
  const { domainName: name, certificateArn } = context;
  return {
    ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
    ...(logRetention === undefined ? {} : { logRetention }),
    ...(alarmEmail === undefined ? {} : { alarmEmail, tellsAlarms: true }),
    ...(name === undefined || certificateArn === undefined
      ? {}
      : { domain: { name, certificateArn } }),
    ...(firewallRate === undefined ? {} : { firewallRate }),
  };
};

/** @throws Error that names the context value which is wrong. */
export const readStage = (node: Node): Stage => {
  const names = Object.keys(StageContext.shape);
  const given = Object.fromEntries(names.map((name) => [name, node.tryGetContext(name)]));
  const parsed = StageContext.safeParse(given);
  if (!parsed.success) {
    throw new Error(`The stage is not valid.\n${z.prettifyError(parsed.error)}`);
  }
  const { stage: name, accountConcurrency, webFunction } = parsed.data;
  const hasWebFunction = webFunction === 'on';
  return { name, accountConcurrency, hasWebFunction, ...STAGES[name], ...optionsOf(parsed.data) };
};
