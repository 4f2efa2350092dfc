import { DomainName, EndpointType, type RestApi, SecurityPolicy } from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { Construct } from 'constructs';

export type CustomDomainProps = {
  restApi: RestApi;
  /** Host name, e.g. `router.example.com`. */
  name: string;
  /** ARN of an ACM certificate for it, in the stack's region. */
  certificateArn: string;
};

/**
 * A custom domain of the REST API, without the stage in its paths. The operator creates the DNS
 * record.
 */
export class CustomDomain extends Construct {
  readonly domain: DomainName;

  constructor(scope: Construct, id: string, props: CustomDomainProps) {
    super(scope, id);
    const { restApi, name, certificateArn } = props;
    this.domain = new DomainName(this, 'Name', {
      domainName: name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS_1_2,
    });
    this.domain.addBasePathMapping(restApi);
  }
}
