! The path of lola15dd.irl in RAPID: millimetres, quaternions w, x, y, z. Written for rl15; it is the language that
! counts here, not the arm. What RAPID cannot say and what stands instead:
!  - ptp speeds are fractions of the arm's in L-IRL; here the first belongs to the tool
!  - c_speed (pass the target at speed, without rounding) has no word; corners are rounded within 5 mm
!  - the status integers of L-IRL have no known meaning; all robtargets have 0
MODULE Lola15DD
  CONST robtarget s0   := [[786.9329, 402.9624, 632.855], [0.102371351265375, -0.854986294049424, -0.134392813973857, -0.490364267641843], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s1   := [[850.5427, 0, 629.1809], [1, 0, 0, 0], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s2   := [[821.9198, -402.9624, 572.256], [0.0280265461701158, 0.860636955563751, -0.0914697982470129, 0.500151796394238], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s3   := [[819.1725, -441.6397, 566.7923], [1, 0, 0, 0], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s4   := [[1019.6465, -571.0567, 669.5612], [0.454519477672044, -0.696364240320019, -0.122787803968973, -0.541675220419702], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s5   := [[1238.159, -421.6189, 810.7015], [0.640856382055789, -0.704416026402759, -0.0616284167162193, -0.29883623873012], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s6   := [[1317.2706, -249.063, 873.6763], [0.00652068622647819, -0.920944949935199, 0.0639426273862407, -0.384355590882889], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s7   := [[1289.7405, -149.4378, 867.7698], [0.0257357761521233, -0.938563996856225, 0.026158459331316, -0.34314869755913], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s8_a := [[1208.2531, 0, 835.705], [0.0418148506976539, -0.965020321109018, -0.0112042554760643, -0.258576415720784], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s9   := [[1276.7658, 149.4378, 890.2428], [0.0566333725883043, -0.921412325894685, -0.0568118482144989, -0.380216255177331], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s10  := [[1295.6459, 249.063, 911.1313], [1, 0, 0, 0], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s11  := [[1201.5523, 421.6189, 874.1061], [0.080884527482216, -0.860034668758784, -0.0969709234417686, -0.494362925140831], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s12  := [[970.0649, 571.0567, 755.4388], [0.110913796113937, -0.852510597483899, -0.1492939135994, -0.488502956358931], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget s13  := [[780.8275, 441.6398, 633.2077], [1, 0, 0, 0], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST jointtarget p0 := [[0, 0, 0, 0, 0, 9E9], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST jointtarget away := [[-115.70, 55.70, 68.70, 9E9, 9E9, 9E9], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  PERS tooldata tip := [TRUE, [[120, 120, 350], [1, 0, 0, 0]], [0.001, [0, 0, 0.001], [1, 0, 0, 0], 0, 0, 0]];

  PROC main()
    MoveJ s0, v1000, z50, tip;
    CirPathMode \PathFrame;
    PathAccLim TRUE \AccMax:=1.0, TRUE \DecelMax:=1.0;
    MoveC s1, s2, v1000\V:=760, z5, tip;
    MoveC s3, s4, v1000\V:=350, z5, tip;
    MoveL s5, v1000\V:=460, z5, tip;
    CirPathMode \ObjectFrame;
    PathAccLim TRUE \AccMax:=0.8, TRUE \DecelMax:=0.8;
    MoveC s6, s7, v1000\V:=300, z5, tip;
    PathAccLim TRUE \AccMax:=0.9, TRUE \DecelMax:=0.9;
    MoveL s8_a, v1000\V:=227.7, z0\Z:=150, tip;
    MoveL s9, v1000\V:=225, z5, tip;
    PathAccLim TRUE \AccMax:=1.2, TRUE \DecelMax:=1.2;
    MoveC s10, s11, v1000\V:=695, z5, tip;
    MoveL s12, v1000\V:=620, z5, tip;
    PathAccLim TRUE \AccMax:=1.0, TRUE \DecelMax:=1.0;
    MoveC s13, s0, v1000\V:=570, fine, tip;
    MoveAbsJ p0, vmax, fine, tip;
    MoveAbsJ away, vmax, fine, tip;
  ENDPROC
ENDMODULE
