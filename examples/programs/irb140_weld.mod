! A weld along the edge of a plate for irb140: to the plate, two straight seams with an arc between them, and away.
! Millimetres, quaternions w, x, y, z. The plate has a frame of its own; the torch points down.
MODULE Weld
  PERS tooldata torch := [TRUE, [[0, 0, 150], [1, 0, 0, 0]], [1.2, [0, 0, 60], [1, 0, 0, 0], 0.004, 0.004, 0.001]];
  PERS wobjdata plate := [FALSE, TRUE, "", [[420, -120, 250], [1, 0, 0, 0]], [[0, 0, 0], [1, 0, 0, 0]]];

  CONST jointtarget home := [[0, 0, 0, 0, 90, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget seam0 := [[0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget seam1 := [[120, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget bend  := [[141.2132, 8.7868, 0], [0, 1, 0, 0], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget seam2 := [[150, 30, 0], [0, 1, 0, 0], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget seam3 := [[150, 200, 0], [0, 1, 0, 0], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST speeddata welding := [12, 30, 5000, 1000];

  PROC main()
    AccSet 60, 100;
    MoveAbsJ home, v500, fine, torch;
    MoveJ Offs(seam0, 0, 0, 60), v500, z20, torch\WObj:=plate;
    MoveL seam0, v100, fine, torch\WObj:=plate;
    WaitTime 0.4;
    MoveL seam1, welding, z0, torch\WObj:=plate;
    MoveC bend, seam2, welding, z0, torch\WObj:=plate;
    MoveL seam3, welding, fine, torch\WObj:=plate;
    WaitTime 0.6;
    MoveL Offs(seam3, 0, 0, 60), v200, z20, torch\WObj:=plate;
    MoveAbsJ home, v500, fine, torch;
  ENDPROC
ENDMODULE
