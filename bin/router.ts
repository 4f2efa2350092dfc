import { App, Validations } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { bundleConsole } from '../console/bundle.ts';
import { addConsole, bundle, WEB_BUNDLE, withBrotli } from '../lib/bundle/bundle.ts';
import { ConfigurationError } from '../lib/configuration-error.ts';
import { checkSeed, readCatalog } from '../lib/read-catalog.ts';
import { RouterStack } from '../lib/router-stack.ts';
import { readStage } from '../lib/stage.ts';

/**
 * Declares the CDK app: one stage, one stack.
 * @throws ConfigurationError on an invalid option or catalog
 */
const declareApp = (): void => {
  const app = new App();
  const stage = readStage(app.node);
  const { file: catalog, models } = readCatalog(app.node);
  checkSeed(app.node, models);
  const router = bundle({ entry: 'lambdas/router.ts', outdir: 'dist/router', catalog });
  const admin = bundle({ entry: 'lambdas/admin.ts', outdir: 'dist/admin', catalog });
  const files = stage.hasConsole
    ? bundle({ entry: 'lambdas/console-files.ts', outdir: 'dist/console-files', catalog })
    : undefined;
  if (files) {
    const console = bundleConsole();
    addConsole(admin, console);
    addConsole(files, withBrotli(console));
  }
  const web = stage.hasWebFunction
    ? bundle({ ...WEB_BUNDLE, outdir: 'dist/web', catalog })
    : undefined;

  const otlp = stage.otlp
    ? bundle({ entry: 'lambdas/otlp.ts', outdir: 'dist/otlp', catalog })
    : undefined;
  const alerts =
    stage.alertForms.length > 0
      ? bundle({ entry: 'lambdas/alerts.ts', outdir: 'dist/alerts', catalog })
      : undefined;

  new RouterStack(app, `model-router-${stage.name}`, {
    description: `Model router, stage ${stage.name}`,
    stage,
    models,
    code: Code.fromAsset(router.folder),
    webFolder: web?.folder,
    adminCode: Code.fromAsset(admin.folder),
    consoleCode: files && Code.fromAsset(files.folder),
    otlpCode: otlp && Code.fromAsset(otlp.folder),
    alertsCode: alerts && Code.fromAsset(alerts.folder),
  });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
};

try {
  declareApp();
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
